"""The errors of a database and of its tenants. Each has its facts as attributes, so that any language can say them.

What `Lost` and `Failed` are is in `database`: these do not leave the stores.
"""

from sightline.errors import BadInput, StoreError


class DatabaseError(StoreError):
    """Something that a database did not do: `where` is its name without a password, `why` what it says itself."""

    says = "{where}: {why}"

    def __init__(self, where: str, why: str) -> None:
        self.where, self.why = where, why
        super().__init__(self.says.format(where=where, why=why))


class Unreachable(DatabaseError):
    """The database does not answer, or none of several can be written: it may be there later."""

    says = "cannot reach {where}: {why}"


class LoginRefused(DatabaseError):
    """The database answers, and does not let us in."""

    says = "cannot reach {where}: {why}"


class TablesRefused(DatabaseError):
    """Our tables cannot be made or used."""

    says = (
        "cannot make or use our tables in {where}: {why}; run `sightline store migrate` as the role that owns "
        "them, and grant this one the rights that docs/tenants.md lists"
    )


class NewerTables(StoreError):
    """A newer version of Sightline has changed the tables."""

    def __init__(self, schema: str, done: int, known: int) -> None:
        self.schema, self.done, self.known = schema, done, known
        super().__init__(
            f"the tables in schema {schema!r} have version {done}, and this version of Sightline knows {known}; "
            "nothing was changed: install the newest version to use them"
        )


class NewerQueue(StoreError):
    """A newer version of the library that keeps the queue has changed its tables."""

    def __init__(self, schema: str, done: str) -> None:
        self.schema, self.done = schema, done
        super().__init__(
            f"the queue of background work in schema {schema!r} is of a newer version of procrastinate ({done}), "
            "and nothing was changed: pip install -U 'procrastinate<4'"
        )


class WorkRefused(StoreError):
    """The role of this connection may not do background work."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"the database does not let this role do background work ({why}): as the owner of the tables run "
            "`sightline store migrate`, then the GRANTs of docs/tenants.md"
        )


class RefusedByDatabase(DatabaseError):
    """The database refused a statement about tenants. Nothing of it was done."""

    says = "{where} refused: {why}"


class LostDatabase(DatabaseError):
    """The database was lost before a statement about tenants was done."""

    says = "{where} was lost: {why}"


class LostAnswer(DatabaseError):
    """The database was lost while it was doing a statement about tenants."""

    says = "{where} was lost: {why}; whether it was done is not known"


class UnguardedRole(StoreError):
    """Row-level security does not hold for the role of this connection."""

    def __init__(self, role: str) -> None:
        self.role = role
        super().__init__(
            f"the database's role {role!r} passes row-level security by, so a mistake could show one tenant's rows "
            "to another; connect as an ordinary role (no superuser, no BYPASSRLS): docs/tenants.md has the commands"
        )


class NameRefused(BadInput):
    """Something of this name cannot be used, made or deleted."""

    says = "{name!r}"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(self.says.format(name=name))


class UnknownTenant(NameRefused, StoreError):
    """No tenant has this name. A store error too, because the address of a database can name one."""

    says = "no tenant {name!r}; `sightline tenant list` shows those there are, `sightline tenant create` adds one"


class TenantExists(NameRefused):
    """A tenant has this name already."""

    says = "there is a tenant {name!r} already, or it is being deleted; `sightline tenant list`"


class NeededTenant(NameRefused):
    """The tenant whose sessions are those of servers without tenants cannot be deleted."""

    says = (
        "the tenant {name!r} is not deleted: commands and servers whose address names no tenant use it, and would "
        "be refused; `sightline sessions delete` deletes sessions of it, `sightline token revoke` its tokens"
    )


class BadTenantName(NameRefused):
    """A new tenant cannot have this name."""

    says = (
        "{name!r} is no name for a tenant: use up to 63 letters, digits, '.', '_' and '-', and begin with a letter "
        "or digit"
    )


class BadLimits(BadInput):
    """Limits or days that no tenant can have."""

    def __init__(self) -> None:
        super().__init__("a limit is 0 (none) or more: at most 1,000,000 requests a minute and 100,000 days")


class UnknownToken(BadInput):
    """No token has this id."""

    def __init__(self, token: str) -> None:
        self.token = token
        super().__init__(f"no token {token!r}; `sightline token list` shows their ids")


class NoAddress(BadInput):
    """This is no address of a database."""

    def __init__(self) -> None:
        super().__init__("the address of a database begins with postgresql://, such as postgresql://user@host/name")


class UnreadableAddress(BadInput):
    """This address cannot be read. It is not repeated: it may hold a password."""

    def __init__(self) -> None:
        super().__init__("this address cannot be read; it is postgresql://user@host:5432/name?pool=10")


class BadSchemaName(NameRefused):
    """An address names a schema that cannot be one."""

    says = "{name!r} is no name for a schema: use small letters, digits and '_'"


class NamelessTenant(BadInput):
    """A tenant has a name that no database takes."""

    def __init__(self) -> None:
        super().__init__("a tenant has a name of one character or more")


class BadPool(BadInput):
    """An address names too few or too many connections."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(f"pool={count} is refused: a process has 1 to 1000 connections")


class UnknownParameter(BadInput):
    """An address has a parameter that nobody knows."""

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(f"the address {where} has a parameter that libpq does not know")


class NoDriver(BadInput):
    """The packages that a database needs are not installed."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"sessions in PostgreSQL need an extra: pip install 'sightline-context[postgres]' ({why})")


class NoQueue(BadInput):
    """The package that keeps the queue of background work is not installed."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"background work with PostgreSQL needs an extra: pip install 'sightline-context[postgres]' ({why})"
        )
