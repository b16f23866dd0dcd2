"""Files of keys and secrets: known by their names or by what is in them, and opened by nobody."""

import asyncio
import os
import random
import re
import string
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from sightline.agent.config import read_config
from sightline.agent.tools.files.find import list_files, search_files
from sightline.agent.tools.files.folders import Folders
from sightline.agent.tools.files.read import file_reader
from sightline.agent.tools.program import run_python
from sightline.agent.trust import reaches
from sightline.errors import Refused, ToolFailed
from sightline.files.folders import PROJECT, ResolvedFolders
from sightline.files.mentions import read_file
from sightline.files.secrets import _TOKENS, has_secret, is_readable, is_secret
from sightline.files.textfile import TextFile

SECRETS = """
.env .env.local .env~ .env-prod .env_prod .env.production.bak .ENV .envs .envrc prod.env prod.env.bak
.env2 .envprod env.prod env.local.bak prod.env.local .netrc.gpg .zhistory .histfile kubeconfig.yaml prod-kubeconfig.yml
shop-firebase-adminsdk-x1-0a.json
id_rsa id_rsa.bak id_rsa_work id_ed25519_sk id_ecdsa_sk ID_RSA server.pem server.pem.old tls.KEY a.ppk AuthKey_1.p8
a.pfx a.p12 a.jks release.keystore Passwords.kdbx
.npmrc .pypirc .netrc _netrc .authinfo.gpg .pgpass .my.cnf .mylogin.cnf .htpasswd .vault-token .vault_pass.txt
.git-credentials credentials.json .credentials.json google-credentials.json application_default_credentials.json
credentials.toml credentials.csv client_secret.json client_secret_1.apps.googleusercontent.com.json
service-account.json my-service-account-key.json serviceAccount.json secrets.yaml secrets.yml app-secrets.json
secret.toml
terraform.tfvars prod.auto.tfvars.json terraform.tfstate terraform.tfstate.backup terraform.tfstate.1700.backup
accessTokens.json access_tokens.db new_user_accessKeys.csv msal_token_cache.json kubeconfig dev.kubeconfig rclone.conf
.bash_history .zsh_history .python_history .psql_history .history fish_history ConsoleHost_history.txt
.aws .azure .ssh .gnupg .git .password-store .secrets .sightline
sightline.toml sightline.toml.bak sightline.toml~ .sightline.toml.swp #sightline.toml#
"""
IN_FOLDERS = """
.kube/config .kube/config.bak .docker/config.json .Docker/Config.json gh/hosts.yml .cargo/credentials.toml
.cargo/credentials .config/gcloud glab-cli/config.yml .m2/settings.xml .oci/config .composer/auth.json
git/credentials containers/auth.json kubernetes/admin.conf
"""
OTHERS = """
id_rsa.pub id_rsa_work.pub id_ed25519_sk.pub id_rsa_utils.py environment.py vite-env.d.ts app.env.ts keyboard.py key.py
pem.txt .gitignore .github .dockerignore docker-compose.yml credentials.py credentials secrets.py secrets
test_secrets.py secret.txt sightline.py sightline.toml.md npmrc.md notes.bak history.py conversation_history
.docker .kube
config.json config hosts.yml sample.env example.env template.env .env.example .env.sample .env.template
.env.local.example .env-example .env.dist
.envoy.yaml .env.d.ts .env.schema .environment id_rsa_utils env.py env.d.ts kubeconfig.go auth.json admin.conf
"""


def drawn(count: int, letters: str = string.ascii_letters + string.digits, seed: int = 1) -> str:
    """A text drawn by lot, without what makes it look like an example."""
    return "".join(random.Random(seed).choices(letters, k=count))


UPPER, HEX = string.ascii_uppercase + "234567", "0123456789abcdef"
PEM = f"-----BEGIN {{}}PRIVATE KEY-----\n{drawn(64)}\n{drawn(64, seed=2)}\n-----END {{}}PRIVATE KEY-----\n"
TOKENS = {
    "a private key": PEM.format("RSA ", "RSA "),
    "a key of OpenSSH": PEM.format("OPENSSH ", "OPENSSH "),
    "an encrypted key": PEM.format("", "").replace("-----\n", "-----\nDEK-Info: AES-256-CBC,8F01\n\n", 1),
    "a key in JSON": '{"private_key": "' + PEM.format("", "").replace("\n", "\\n") + '"}',
    "a key in a comment": PEM.format("OPENSSH ", "OPENSSH ").replace("\n", "\n# "),
    "a key in a quotation": PEM.format("OPENSSH ", "OPENSSH ").replace("\n", "\n> "),
    "a key in a table": PEM.format("OPENSSH ", "OPENSSH ").replace("\n", "\n|  "),
    "a key in a list": PEM.format("OPENSSH ", "OPENSSH ").replace("\n", "\n- "),
    **{
        f"a key of Kubernetes, {kind}": f"client-key-data: {b64encode(PEM.format(kind, kind).encode()).decode()}"
        for kind in ("", "RSA ", "EC ")
    },
    "AWS": "AKIA" + drawn(16, UPPER),
    "AWS's secret": f'aws_secret_access_key = "{drawn(40)}"',
    "GitHub": "ghp_" + drawn(36),
    "GitHub, newer": f"github_pat_{drawn(22)}_{drawn(59)}",
    "GitLab": "glpat-" + drawn(20),
    "Slack": f"xoxb-{drawn(12, string.digits)}-{drawn(24)}",
    "Slack's address": f"https://hooks.slack.com/services/T{drawn(9, UPPER)}/B{drawn(9, UPPER)}/{drawn(24)}",
    "Stripe": "sk_live_" + drawn(24),
    "Google": "AIza" + drawn(35),
    "OpenAI": "sk-proj-" + drawn(60),
    "OpenAI, older": f"sk-{drawn(20)}T3BlbkFJ{drawn(20, seed=3)}",
    "Anthropic": "sk-ant-api03-" + drawn(93),
    "npm": "npm_" + drawn(36),
    "PyPI": "pypi-AgEIcHlwaS5vcmc" + drawn(100),
    "Hugging Face": "hf_" + drawn(34),
    "SendGrid": f"SG.{drawn(22)}.{drawn(43)}",
    "DigitalOcean": "dop_v1_" + drawn(64, HEX),
    "Azure": f"AccountKey={drawn(86)}==",
}
EXAMPLES = """
AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ghp_000000000000000000000000000000000000
sk-ant-api03-... sk-proj-your-key-here sk-1234567890 AIzaSyEXAMPLEexampleEXAMPLEexampleEXAMPLE
-----BEGIN PRIVATE KEY-----
MIIE...
-----END PRIVATE KEY-----
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gunVTLw7onL
-----END PUBLIC KEY-----
if text.startswith("-----BEGIN RSA PRIVATE KEY-----"): raise ValueError("a private key is not a certificate")
client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURJVENDQWdtZ0F3SUJBZ0lJWVV0c2Q4Z3pZTUF3RFFZSktvWklo
public: LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUlJQklqQU5CZ2txaGtpRzl3MEJBUUVGQUFPQ0FROEFNSUlCQ2dLQ0FRRUF1MVNV
task-management-of-many-long-words-that-are-no-key sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
"""


@pytest.mark.parametrize("name", [*SECRETS.split(), "two\nlines.pem"])
def test_keys_and_secrets_are_known_by_name(name: str) -> None:
    """Also as the copies that editors and people leave beside them, in small letters or capitals."""
    assert is_secret(name)


@pytest.mark.parametrize("path", IN_FOLDERS.split())
def test_some_names_are_secret_in_one_folder(path: str) -> None:
    """Elsewhere they are ordinary."""
    folder, _, name = path.partition("/")
    assert is_secret(name, folder)
    if name != "credentials.toml":
        assert not is_secret(name, "src")


@pytest.mark.parametrize("name", OTHERS.split())
def test_what_only_sounds_alike_is_no_secret(name: str) -> None:
    """Public keys, code, notes, and files that show which values to fill in can be read."""
    assert not is_secret(name, "src")


@pytest.mark.parametrize("kind", TOKENS)
def test_keys_and_tokens_are_known_by_shape(kind: str) -> None:
    """At the beginning, inside and at the end of a text, and in UTF-16."""
    token = TOKENS[kind]
    for text in (token, f"key: {token}\nmore", f"x = '{token}'", f"# {token}"):
        assert has_secret(text.encode())
    assert has_secret(f"key: {token}\n".encode("utf-16"))


@pytest.mark.parametrize("kind", ["GitHub", "GitHub, newer", "npm", "Stripe", "AWS", "Hugging Face"])
def test_a_token_is_known_inside_a_path_or_a_name(kind: str) -> None:
    """As in an address; in a longer word it is none."""
    for before in ("https://host/", "my_", "-"):
        assert has_secret(f"{before}{TOKENS[kind]}\n".encode())
    assert not has_secret(f"word{TOKENS[kind]}\n".encode())


def test_examples_are_no_secrets() -> None:
    """Documented keys, placeholders, code that looks for keys, public keys."""
    for line in (EXAMPLES, *EXAMPLES.split("\n\n")):
        assert not has_secret(line.encode())


def test_looking_takes_time_in_proportion() -> None:
    """No shape has a repetition without an end, or begins with one."""
    for _, shape in _TOKENS:
        bare = re.sub(rb"\\\\.|\[(?:\\\\.|[^\]])*\]|\}\+", b"", shape)
        assert not re.search(rb"[*+]|,\}", bare), shape


# ---------------------------------------------------------------------- nobody opens them


def called(tool: Any, **arguments: Any) -> str:
    try:
        return str(asyncio.run(tool.run(arguments)))
    except ToolFailed as error:
        return f"failed: {error}"


def project(tmp_path: Path) -> Path:
    """A project with secrets by name and by content, each beside something equal in all else."""
    root = tmp_path / "shop"
    files = {
        ".kube/config": "word of kube",
        ".kube/notes": "word of notes",
        "gh/hosts.yml": "word of hosts",
        ".env-prod": "word of env",
        ".env.example": "word of example",
        "service-account.json": "word of account",
        ".sightline/trusted.json": "word of trust",
        "src/with_key.py": f"word = '{TOKENS['GitHub']}'",
        "src/without_key.py": "word = 'ghp_EXAMPLE'",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (root / "harmless.txt").symlink_to(".kube/config")
    (root / "plain").symlink_to(".kube")
    return root


CLOSED = [".kube/config", "gh/hosts.yml", ".env-prod", "service-account.json", ".sightline/trusted.json",
          "src/with_key.py", "harmless.txt", "plain/config"]  # fmt: skip
OPEN = [".kube/notes", ".env.example", "src/without_key.py", "plain/notes"]


def test_no_tool_shows_them(tmp_path: Path) -> None:
    """Neither reading, nor listing, nor searching, nor a program, nor a summary; their neighbours are shown."""
    root = project(tmp_path)
    folders = Folders([root])
    listed, found = called(list_files(folders)), called(search_files(folders), query="word")
    for path in CLOSED:
        assert "refused" in called(file_reader(folders), path=path), path
        assert read_file(path, root) is None
    for path in OPEN:
        assert "word" in called(file_reader(folders), path=path)
        assert "word" in (read_file(path, root) or "")
    assert "service-account" not in listed
    assert "hosts.yml" not in listed
    assert sorted(line.partition(":")[0] for line in found.splitlines()[:-1]) == sorted(
        path for path in OPEN if not path.startswith("plain/")
    )
    assert found.splitlines()[-1] == "[not searched, no text, too large or with keys: 1: src/with_key.py]"
    shown = called(run_python(folders), code="print(open('src/with_key.py').read())", files=["src/with_key.py"])
    assert "refused" in shown
    assert TOKENS["GitHub"] not in shown + found + listed


def test_no_edit_opens_or_makes_them(tmp_path: Path) -> None:
    """By name or content; and no key is written into a file that could not be opened afterwards."""
    root = project(tmp_path)
    for path in CLOSED:
        with pytest.raises(Refused, match=r"keys or secrets|private key or a token"):
            TextFile(root, path, "en").read()
    file = TextFile(root, "src/without_key.py", "en")
    with pytest.raises(Refused, match="private key or a token"):
        file.write(f"a = '{TOKENS['npm']}'", over=file.read())
    file.write("a = 'npm_EXAMPLE'", over=file.read())


def test_what_sightline_stores_is_closed_wherever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a folder of another name inside the project."""
    root = project(tmp_path)
    (root / "state").mkdir()
    (root / "state" / "trusted.json").write_text("word of trust")
    assert "word" in called(file_reader(Folders([root])), path="state/trusted.json")
    monkeypatch.setenv("SIGHTLINE_HOME", str(root / "state"))
    assert "refused" in called(file_reader(Folders([root])), path="state/trusted.json")
    assert "state" not in called(list_files(Folders([root])))
    with pytest.raises(Refused, match="keys or secrets"):
        TextFile(root, "state/trusted.json", "en").read()


def test_a_setting_allows_more_and_nothing_of_our_own(tmp_path: Path) -> None:
    """By patterns; a project's file that says so is asked about."""
    root = project(tmp_path)
    patterns = (".kube/*", "src/with_*.py", "*sightline*")
    folders, some = Folders([root], readable=patterns), ResolvedFolders(PROJECT)
    some.readable = patterns
    for path in (".kube/config", "src/with_key.py", "harmless.txt"):
        assert "word" in called(file_reader(folders), path=path)
        assert "word" in (read_file(path, root, folders=some) or "")
        assert "word" in TextFile(root, path, "en", some).read()
    for path in ("gh/hosts.yml", ".sightline/trusted.json"):
        assert "refused" in called(file_reader(folders), path=path)
        assert read_file(path, root, folders=some) is None
    assert "config" in called(list_files(folders))
    assert is_readable(root / ".ssh", root, [".ssh/id_rsa"])
    assert not is_readable(root / ".ssh/id_dsa", root, [".ssh/id_rsa"])
    (root / "sightline.toml").write_text('[tools]\nreadable = ["certs/*.pem"]')
    [reach] = reaches(read_config(root, {}), root, {})
    assert reach.line() == "lets the model read files of keys and secrets: tools.readable: certs/*.pem"


def test_the_end_of_a_long_file_is_looked_at_when_it_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key after the part that is looked at on opening."""
    monkeypatch.setattr("sightline.files.secrets.SCANNED", 10_000)
    lines = [f"line {number}" for number in range(5000)]
    (tmp_path / "a.txt").write_text("\n".join([*lines, TOKENS["GitHub"]]))
    reader = file_reader(Folders([tmp_path]))
    assert "line 7" in called(reader, path="a.txt", start=1, lines=100)
    assert "refused" in called(reader, path="a.txt", start=4990, lines=100)


def test_a_key_across_two_blocks_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is looked at piece by piece."""
    monkeypatch.setattr("sightline.files.secrets._BLOCK", 2000)
    for at in (1990, 1970, 1950):
        (tmp_path / "a.txt").write_text("." * at + f" {TOKENS['GitHub']} " + "." * 3000)
        assert "refused" in called(file_reader(Folders([tmp_path])), path="a.txt")


def test_our_own_files_hold_none() -> None:
    """What was measured: no file of this repository's source is refused for its content, or its name."""
    here = Path(__file__).parents[2]
    for folder, folders, names in os.walk(here / "src"):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            assert not is_secret(name, Path(folder).name)
            assert not has_secret((Path(folder) / name).read_bytes())
