"""Names that everybody knows. A model can write them without having read them here, so they come last."""

from sightline.values.pattern import pattern

_MODULES = (
    # Python
    "os sys re json logging collections typing datetime pathlib functools itertools subprocess argparse unittest math "
    "time random copy io abc asyncio threading multiprocessing warnings types inspect string struct hashlib tempfile "
    "shutil traceback contextlib dataclasses enum operator pickle uuid urllib socket csv glob decimal fractions "
    "sqlite3 textwrap importlib builtins concurrent signal platform base64 zipfile tarfile gzip np numpy pd pandas plt "
    # Go
    "fmt errors strings context strconv sync bytes bufio filepath exec slog testing sort slices maps atomic http "
    # JavaScript
    "console JSON Math Object Array Promise process document window Number String Date Symbol Reflect module React "
    # Rust, Java, C++
    "std core alloc System pytest @pytest"
)
MODULES = frozenset(_MODULES.split())
_WORDS = (
    "and/or n/a i/o true/false yes/no on/off input/output read/write client/server he/she his/her either/or e.g i.e "
    "stdin/stdout stdout/stderr tcp/ip ci/cd ui/ux w/o "
    "utf-8 utf8 python3 python2 int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 base64 sha1 sha256 "
    "md5 ipv4 ipv6 x86_64 arm64 amd64 i18n err.error t.fatalf t.fatal t.errorf t.error t.run t.helper t.log t.logf "
    "javascript typescript github gitlab youtube postgresql mysql sqlite graphql macos ios openai "
    "net/http path/filepath os/exec encoding/json io/ioutil math/rand os/signal bin/bash bin/sh bin/zsh "
    "usr/bin/env dev/null tostring foreach usestate useeffect addeventlistener isinstance hasattr getattr "
    "setattr assertequal asserttrue assertfalse assertraises notimplemented stringio bytesio ordereddict "
    "defaultdict namedtuple"
)
WORDS = frozenset(_WORDS.split())
_FILES = (
    # Endings of file names: `types.ts` is a file, `types.Any` is not.
    "py pyi pyx ts tsx js jsx mjs cjs go rs java kt scala c h cc cpp hpp cs rb php swift sh bash lua sql vue svelte "
    "dart css scss html htm xml svg md rst txt json jsonl toml yaml yml ini cfg conf lock csv tsv log proto graphql "
    "ipynb mod sum pdf png jpg gif zip gz tar whl env tf r jl ex erl hs ml zig dat"
)
FILES = frozenset(_FILES.split())

# Double underscores, media types, the errors of Python and JavaScript.
_EVERYDAY = pattern(
    r"__\w+__|(?:text|application|image|audio|video|font|multipart)/[\w.+-]*|"
    r"(?:Value|Type|Key|Index|Attribute|Runtime|Import|ModuleNotFound|Name|NotImplemented|OS|IO|Assertion|Syntax|"
    r"FileNotFound|FileExists|Permission|Timeout|Connection|ZeroDivision|Unicode|UnicodeDecode|Recursion|Overflow|"
    r"Range|Reference)Error|StopIteration|KeyboardInterrupt|SystemExit|(?:Deprecation|User|Future|Runtime)Warning"
)
_KINDS = ("Error", "Warning", "Iteration", "Interrupt", "Exit")


def ending(token: str) -> str:
    """Return what is after the last dot if that makes the token a file name, else ""."""
    tail = token.rpartition(".")[2].lower()
    return tail if tail in FILES and "." in token else ""


def everyday(token: str) -> bool:
    """Whether this belongs to a language or its library and not to a project."""
    if token.lower().lstrip("/") in WORDS:
        return True
    if (token.startswith("__") or "/" in token or token.endswith(_KINDS)) and _EVERYDAY.fullmatch(token):
        return True
    head, dot, rest = token.partition(".")
    if not dot or head not in MODULES or ending(token):
        return False
    last = rest.rpartition(".")[2]
    return not (last.isupper() and "_" in last)  # `process.env.DATABASE_URL` belongs to a project
