"""Which files hold keys or secrets: by their names, or by what is in them. Either suffices.

No tool, app or summary opens such a file, unless a setting of the user's allows it.
"""

import os
import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

from sightline.values.pattern import pattern

SCANNED = 16 << 20  # bytes of a file that are looked at; what a tool shows of a longer one is looked at too
_BLOCK, _OVERLAP = 1 << 20, 1 << 10  # the longest match, a private key's beginning, has some 400 bytes
_LONGEST_NAME = 255  # bytes, of any file

# ---------------------------------------------------------------------- names

_STAGE = "prod|production|staging|dev|development|local|live|qa|test"  # what settings are for
_SECRET = pattern(
    r"(?is)"
    # Not those that only show which values to fill in, or of which kind they are:
    r"(?!(?:\.env(?:[._-][\w-]*)?[._-](?:example|sample|template|dist|schema|d\.ts)"
    r"|(?:sample|example|template)\.env)\Z)"
    rf"[.#]{{0,2}}(?:\.env(?:s|rc|\d+|{_STAGE})?(?:[^a-z0-9].*)?|.*\.env|(?:.*\.)?env\.(?:{_STAGE})"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?:[_-](?!(?:utils?|helpers?|tests?|parser)\Z)[^.]*)?"
    r"|.*\.(?:pem|key|p8|p12|pfx|jks|keystore|kdbx?|ppk|tfvars|tfvars\.json|tfstate(?:\..*)?|kubeconfig|agekey)"
    r"|(?:.*[._-])?(?:secrets?|credentials|passwords?)\.(?:ya?ml|json|toml|ini|cfg|conf|properties|xml|csv|db|plist)"
    r"|(?:.*[._-])?credentials\.tfrc\.json|client_secret.*\.json|.*service[_-]?account.*\.json"
    r"|.*firebase-adminsdk.*\.json"
    r"|(?:.*[._-])?accesskeys\.csv|rootkey\.csv|access_?tokens\.(?:json|db)|msal_token_cache\..*|kaggle\.json"
    r"|[._]netrc(?:\.gpg)?|\.authinfo(?:\.gpg)?|\.pgpass|pgpass\.conf|\.my(?:login)?\.cnf|\.pypirc|\.npmrc|\.htpasswd"
    r"|\.vault[_-](?:token|pass(?:word)?(?:\.txt)?)|\.dockercfg|\.dockerconfigjson|\.s3cfg|\.boto|\.databrickscfg"
    r"|\.terraformrc|terraform\.rc|rclone\.conf|(?:.*[._-])?kubeconfig(?:\.(?:ya?ml|json|conf))?|wallet\.dat|\.passwd-s3fs|\.secrets?|\.password-store"
    r"|\.(?:\w+_|z)?history|\.histfile|fish_history|consolehost_history\.txt"  # of shells: people type keys there
    r"|\.ssh|\.gnupg|\.aws|\.azure"
    r"|\.git|\.git-credentials"  # a URL in its configuration may contain a token
    r"|\.sightline|sightline\.toml)"  # what we store; and our configuration, which may contain a key
    r"(?:~|\.(?:bak|backup|old|orig|save|copy|tmp|sw[a-z]))*#?"  # copies that editors and people leave next to them
)
_OWN = pattern(r"(?is)[.#]{0,2}(?:\.sightline|sightline\.toml)(?:~|\.(?:bak|backup|old|orig|save|copy|tmp|sw[a-z]))*#?")
_IN_FOLDER = {  # names that are secret in a folder of this name only
    ".kube": pattern(r"(?is)config(?:[._-].*)?"),
    "kubernetes": pattern(r"(?is)(?:(?:super-)?admin|kubelet|controller-manager|scheduler)\.conf.*"),
    ".docker": pattern(r"(?is)config\.json.*"),
    "containers": pattern(r"(?is)auth\.json.*"),
    "git": pattern(r"(?is)credentials"),
    "gh": pattern(r"(?is)hosts\.ya?ml.*"),
    "glab-cli": pattern(r"(?is)config\.ya?ml.*"),
    "doctl": pattern(r"(?is)config\.ya?ml.*"),
    ".config": pattern(r"(?is)gcloud|hub|op"),
    ".cargo": pattern(r"(?is)credentials.*"),
    ".gem": pattern(r"(?is)credentials.*"),
    ".composer": pattern(r"(?is)auth\.json.*"),
    "composer": pattern(r"(?is)auth\.json.*"),
    ".codex": pattern(r"(?is)auth\.json.*"),
    ".oci": pattern(r"(?is)config.*"),
    ".snowsql": pattern(r"(?is)config.*"),
    ".huggingface": pattern(r"(?is)(?:stored_)?tokens?"),
    "huggingface": pattern(r"(?is)(?:stored_)?tokens?"),
    ".m2": pattern(r"(?is)settings(?:-security)?\.xml.*"),
    ".gradle": pattern(r"(?is)gradle\.properties.*"),
}


def is_secret(name: str, folder: str = "") -> bool:
    """Whether a file or folder of this name, in a folder of that name, has keys or secrets."""
    if len(name) > _LONGEST_NAME:  # there is none
        return False
    inside = _IN_FOLDER.get(folder.casefold())
    return _SECRET.fullmatch(name) is not None or (inside is not None and inside.fullmatch(name) is not None)


def is_secret_path(place: Path, root: Path) -> bool:
    """Whether a path has the name of a secret below `root`, or anywhere if it is not below it."""
    names = (place.relative_to(root) if place.is_relative_to(root) else place).parts
    return any(map(is_secret, names, (root.name, *names)))


def is_own(place: Path, root: Path) -> bool:
    """Whether a path below `root` is what Sightline itself stores or is configured with: no setting allows it."""
    if any(map(is_own_name, (place.relative_to(root) if place.is_relative_to(root) else place).parts)):
        return True
    home = own_home()
    return place.is_relative_to(home) and not root.is_relative_to(home)


def is_own_name(name: str) -> bool:
    """Whether a file or folder of this name is Sightline's own."""
    return _OWN.fullmatch(name) is not None


def own_home() -> Path:
    """Return the real path of the folder in which Sightline stores sessions and what the user has allowed."""
    return Path(os.environ.get("SIGHTLINE_HOME") or Path.home() / ".sightline").resolve()


def is_readable(place: Path, project: Path, allowed: Sequence[str]) -> bool:
    """Whether a setting allows a secret file, or a folder on the way to one, by its path or that from the project on.

    In these patterns `*` stands for any text, slashes included, and `~/` for the user's home.
    """
    names = [str(place), *([str(place.relative_to(project))] if place.is_relative_to(project) else [])]
    globs = [os.path.expanduser(glob) for glob in allowed]  # noqa: PTH111 - a pattern, not a path
    return any(fnmatchcase(name, glob) or glob.startswith(f"{name}/") for name in names for glob in globs)


# ---------------------------------------------------------------------- contents

_B = rb"(?<![A-Za-z0-9])"  # a token begins here, not inside a longer word,
_ALONE = rb"(?<![A-Za-z0-9_/+-])"  # or, if words with hyphens look like it, not inside a path or a name
# Base64 of how a private key begins: of all its whole groups of three bytes.
_ENCODED = b"|".join(
    b64encode(begins[: len(begins) // 3 * 3])
    for kind in (b"", b"RSA ", b"EC ", b"DSA ", b"OPENSSH ", b"ENCRYPTED ")
    if (begins := b"-----BEGIN " + kind + b"PRIVATE KEY-----")
).replace(b"+", rb"\+")
# What must be there, which is fast to find; then the shape. Every repetition in it has an end, so looking takes time in
# proportion to the length of a text.
_TOKENS: tuple[tuple[tuple[bytes, ...], bytes], ...] = (
    (  # also in code or JSON, or with the mark of a comment, a quotation or a table before each line; with headers
        (b"PRIVATE KEY",),
        rb"-----BEGIN [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----"
        rb"""(?:[\s"'+,;#>|*/-]{1,40}+|\\[nr]|[A-Za-z-]{2,20}: [^\n\\]{0,80}+(?:\n|\\n)){0,12}+"""
        rb"[A-Za-z0-9+/]{40}",
    ),
    ((b"LS0tLS1CRUdJTi",), rb"(?:" + _ENCODED + rb")[A-Za-z0-9+/]{24}"),
    ((b"AGE-SECRET-KEY-1",), rb"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ((b"AKIA", b"ASIA"), _B + rb"(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    (
        (b"aws_secret", b"AWS_SECRET", b"SecretAccessKey"),
        rb"""(?i)(?:aws_secret(?:_access)?_key|SecretAccessKey)["']?\s{0,4}[=:]\s{0,4}["']?[a-z0-9/+]{40}(?![a-z0-9/+=])""",
    ),
    ((b"AccountKey=",), rb"AccountKey=[A-Za-z0-9+/]{86}=="),
    ((b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"), _B + rb"gh[pousr]_[A-Za-z0-9]{36,255}"),
    ((b"github_pat_",), _B + rb"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    ((b"glpat-", b"gldt-", b"glrt-", b"glptt-"), _ALONE + rb"gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{20,255}"),
    (
        (b"xoxb-", b"xoxp-", b"xoxa-", b"xoxs-", b"xoxe"),
        _B + rb"xox[abpse](?:\.xox[bp])?-[0-9]{1,16}-[A-Za-z0-9-]{20,255}",
    ),
    ((b"xapp-1-",), _B + rb"xapp-1-[A-Z0-9]{8,16}-[0-9]{8,16}-[a-f0-9]{32,128}"),
    ((b"hooks.slack.com",), rb"hooks\.slack\.com/services/T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{24}"),
    ((b"k_live_",), _B + rb"[sr]k_live_[A-Za-z0-9]{24,255}"),
    ((b"AIza",), _B + rb"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ((b"GOCSPX-",), _B + rb"GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])"),
    ((b"ya29.",), _B + rb"ya29\.[A-Za-z0-9_-]{60,1000}"),
    ((b"sk-ant-",), _ALONE + rb"sk-ant-[a-z0-9]{3,12}-[A-Za-z0-9_-]{80,120}"),
    ((b"sk-",), _ALONE + rb"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,200}"),
    ((b"T3BlbkFJ",), _B + rb"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"),
    ((b"npm_",), _B + rb"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])"),
    ((b"pypi-AgE",), _B + rb"pypi-AgE[A-Za-z0-9_-]{60,1000}"),
    ((b"hf_",), _B + rb"hf_[A-Za-z0-9]{34}(?![A-Za-z0-9_])"),
    ((b"SG.",), _B + rb"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    ((b"dop_v1_",), _B + rb"dop_v1_[a-f0-9]{64}"),
    ((b"dckr_pat_",), _B + rb"dckr_pat_[A-Za-z0-9_-]{27}"),
    ((b"hvs.",), _B + rb"hvs\.[A-Za-z0-9_-]{90,300}"),
)  # fmt: skip
_EXAMPLE = pattern(rb"(?i)example|sample|placeholder|dummy|fake|test|your|redact|change|x{4}|0{4}|12345|abcd|\.\.\.")
_FEWEST = 8  # different characters that a random token has at least
_COMPILED: dict[bytes, "re.Pattern[bytes]"] = {}


def has_secret(data: bytes) -> bool:
    """Whether a text has a private key in it, or a token of a well-known shape that is no example.

    The time it takes is proportional to the length of the text.
    """
    if b"\0" in data:
        data = data.replace(b"\0", b"")  # UTF-16
    for needed, shape in _TOKENS:
        if any(part in data for part in needed):
            rule = _COMPILED.setdefault(shape, re.compile(shape))
            if any(map(_is_drawn, rule.finditer(data))):
                return True
    return False


def has_secret_inside(file: BinaryIO, go_on: Callable[[], object]) -> bool:
    """Whether an open file has a secret in its first `SCANNED` bytes. Afterwards it is at its beginning again."""
    rest, left = b"", SCANNED
    while left > 0 and (block := file.read(min(_BLOCK, left))):
        go_on()
        if has_secret(rest + block):
            return True
        rest, left = block[-_OVERLAP:], left - len(block)
    file.seek(0)
    return False


def _is_drawn(match: "re.Match[bytes]") -> bool:
    """Whether this looks random, and is no example that somebody wrote."""
    drawn = match[0][-40:]
    return not _EXAMPLE.search(drawn) and len(set(drawn)) >= _FEWEST
