"""`sightline doctor`: is everything there that a chat or a server needs, and what to do if it is not."""

import os
from collections.abc import Sequence

import click
from rich.console import Console
from rich.text import Text

from sightline.cli.doctor_checks import Check, Options, State, run_checks
from sightline.cli.options import place, with_json
from sightline.cli.phrases import Phrases
from sightline.cli.render import Column, console, first_words, print_json, print_table, print_text, printable
from sightline.follow.turns import PROVIDERS
from sightline.server.config import usual_upstreams

PORT = 8787  # where a server listens unless told otherwise

_STYLES: dict[State, str] = {"good": "green", "note": "yellow", "broken": "red"}
_PHRASES = {
    "good": ("good", "正常"),
    "note": ("note", "注意"),
    "broken": ("broken", "故障"),
    "state": ("state", "状态"),
    "checked": ("checked", "检查项"),
    "finding": ("found", "结果"),
    "all good": ("Nothing is broken.", "没有故障。"),
    "some broken": ("Broken: {count}. What to do is below each.", "故障 {count} 处，处理方法见各项下方。"),
    # what is checked
    "check versions": ("versions", "版本"),
    "check extras": ("extras", "附加组件"),
    "check inspector": ("inspector", "检视器"),
    "check configuration": ("configuration", "配置"),
    "check store": ("store", "存储"),
    "check newest session": ("newest session", "最新会话"),
    "check tokenizer": ("tokenizer", "分词器"),
    "check model": ("model", "模型"),
    "check upstream": ("upstream", "上游"),
    "check port": ("port", "端口"),
    "check token": ("token", "令牌"),
    "check check": ("check", "检查"),
    # what was found, and what to do
    "versions found": ("Sightline {version}, Python {python}", "Sightline {version}，Python {python}"),
    "extras there": ("all that the extra `all` brings", "附加组件 `all` 的全部内容"),
    "extras missing": ("not installed: {missing}", "未安装：{missing}"),
    "install extras": (
        "if you need them: pip install 'sightline-context[{wanted}]'",
        "如有需要：pip install 'sightline-context[{wanted}]'",
    ),
    "pages built": ("its pages are built", "页面已构建"),
    "pages not built": (
        "its pages are not built, so `sightline inspect` shows nothing",
        "页面尚未构建，`sightline inspect` 不显示任何内容",
    ),
    "build pages": ("run `make pages` in the copy of the repository", "请在代码库副本中运行 `make pages`"),
    "configuration read": ("{file}, strategy {strategy}", "{file}，策略 {strategy}"),
    "configuration none": (
        "no sightline.toml here; the defaults, strategy {strategy}",
        "此处没有 sightline.toml，使用默认值，策略 {strategy}",
    ),
    "configuration bad": ("{why}", "{why}"),
    "fix configuration": ("change that line of the file, or delete it", "修改文件中的这一行，或将其删除"),
    "store writable": (
        "{folder}: can be written, {free} free, sessions: {sessions:,}",
        "{folder}：可写，剩余 {free}，会话 {sessions:,} 个",
    ),
    "store unwritable": ("{folder} cannot be written: {why}", "{folder} 不可写：{why}"),
    "store reachable": (
        "{folder}: can be reached, sessions: {sessions:,}",
        "{folder}：可连接，会话 {sessions:,} 个",
    ),
    "store unreachable": ("{folder}: {why}", "{folder}：{why}"),
    "reach database": (
        "start the database, or correct --store or SIGHTLINE_STORE; PGPASSWORD or ~/.pgpass holds a password",
        "启动数据库，或更正 --store 或 SIGHTLINE_STORE；密码可放在 PGPASSWORD 或 ~/.pgpass 中",
    ),
    "store unguarded": (
        "the role {role!r} passes row-level security by: nothing but our own care keeps tenants apart",
        "角色 {role!r} 绕过行级安全：租户之间仅靠程序自身的检查隔离",
    ),
    "use ordinary role": (
        "to serve tenants, connect as a role that is no superuser and has no BYPASSRLS: docs/tenants.md",
        "若要为多个租户提供服务，请用非超级用户且无 BYPASSRLS 的角色连接：见 docs/tenants.md",
    ),
    "work refused": ("background work cannot run: {why}", "后台工作无法运行：{why}"),
    "allow work": (
        "run the GRANTs of docs/tenants.md; until then no session is deleted when its days are over",
        "执行 docs/tenants.md 中的 GRANT；在此之前，到期的会话不会被删除",
    ),
    "allow writing": (
        "allow this user to write there, or choose another folder with --root or SIGHTLINE_HOME",
        "允许当前用户写入，或用 --root 或 SIGHTLINE_HOME 指定其他文件夹",
    ),
    "store full": ("{folder}: only {free} free", "{folder}：仅剩 {free}"),
    "make space": (
        "make space on this disk; `sightline sessions delete` deletes old sessions",
        "清理磁盘空间；`sightline sessions delete` 可删除旧会话",
    ),
    "no session yet": ("there is none yet", "尚无会话"),
    "session verified": ("{id}: as it was written, every payload", "{id}：日志与每个请求都与写入时一致"),
    "session unreadable": ("{id} cannot be opened: {why}", "{id} 无法打开：{why}"),
    "look at session": (
        "if another process holds it, let it go on; else restore its file from a copy",
        "若被其他进程占用，请等待；否则请从备份恢复该文件",
    ),
    "session damaged": ("{id} is not as it was written ({why})", "{id} 与写入时不一致（{why}）"),
    "verify session": (
        "`sightline verify {id}` lists the lines; the rest of the session can be used",
        "`sightline verify {id}` 列出这些行；会话的其余部分仍可使用",
    ),
    "tokens exact": ("exact for {encoding}", "{encoding} 精确计数"),
    "tokens bounded": ("tokens are counted by an upper bound", "以上限估计 token 数"),
    "install tokenizer": ("pip install splintr-rs", "pip install splintr-rs"),
    "model known": ("{name}, context window {window:,}", "{name}，上下文窗口 {window:,}"),
    "model window assumed": (
        "{name}: its context window is not known, {window:,} is assumed",
        "{name}：上下文窗口未知，按 {window:,} 计",
    ),
    "set window": ("say window = … for it in sightline.toml", "在 sightline.toml 中为它设置 window = …"),
    "model keyless": ("{name} has no key", "{name} 没有密钥"),
    "set key": ("set {variable} in the environment", "在环境变量中设置 {variable}"),
    "model none": (
        "none; only `sightline chat` and talking through the server need one",
        "没有；只有 `sightline chat` 和通过服务器对话才需要",
    ),
    "get model": ("`sightline model list` says how to get one", "`sightline model list` 说明如何获得模型"),
    "model bad": ("{why}", "{why}"),
    "fix model": ("change SIGHTLINE_MODEL or sightline.toml", "修改 SIGHTLINE_MODEL 或 sightline.toml"),
    "model not tried": ("cannot be looked for: {why}", "无法查找：{why}"),
    "install agent": ("pip install 'sightline-context[agent]'", "pip install 'sightline-context[agent]'"),
    "upstream answers": ("{address} answers ({status})", "{address} 有响应（{status}）"),
    "upstream unreachable": ("{address} cannot be reached: {why}", "{address} 无法访问：{why}"),
    "check network": (
        "check the address, the network and HTTPS_PROXY; --offline leaves this out",
        "检查地址、网络和 HTTPS_PROXY；--offline 可跳过此项",
    ),
    "upstream not tried": ("{address} was not tried", "未检查 {address}"),
    "install server": ("pip install 'sightline-context[server]'", "pip install 'sightline-context[server]'"),
    "port free": ("{port} is free", "{port} 可用"),
    "port served": ("Sightline {version} is served at {port}", "Sightline {version} 正在端口 {port} 提供服务"),
    "port taken": ("{port} cannot be used: {why}", "{port} 不可用：{why}"),
    "choose port": (
        "another program has it: choose another with --port",
        "其他程序正在使用该端口：用 --port 选择其他端口",
    ),
    "token protected": ("{file} is readable by its owner only", "{file} 仅所有者可读"),
    "token readable": ("{file} can be read by others (mode {mode})", "{file} 可被他人读取（权限 {mode}）"),
    "protect token": ("chmod 600 {file}", "chmod 600 {file}"),
    "check failed": ("this check failed: {why}", "此项检查失败：{why}"),
    "report": ("please report it, with this line", "请连同此行一起报告"),
}


@click.command(short_help="Check that everything works, and say what to do if not.")
@click.option("--upstream", "upstreams", multiple=True, metavar="[NAME=]URL",
              help="An address that must be reached. A name before it, as `serve` takes it, is allowed.")  # fmt: skip
@click.option(
    "--port", type=click.IntRange(1, 65535), default=PORT, show_default=True, help="Where a server would listen."
)
@click.option("--offline", is_flag=True, help="Look at nothing outside this machine's files.")
@with_json
def doctor(upstreams: tuple[str, ...], port: int, offline: bool, as_json: bool) -> None:
    """Check the configuration, the store, the newest session, the tokenizer, the model, the providers and the port.

    Each line says what was found, and what to do if that is not good. No key is sent anywhere. If something is broken,
    the exit code is 1; a note alone is not.

    \b
    Examples:
      sightline doctor
      sightline doctor --upstream http://gpu.example:8000/v1 --port 9000
      sightline doctor --offline --json
    """
    here = place()
    words = Phrases(here.words.language, _PHRASES)
    upstreams = tuple(map(_address, upstreams))
    usual = () if upstreams else tuple(usual_upstreams(os.environ).values())
    found = list(run_checks(here, Options(upstreams, usual, port, offline)))
    broken = sum(check.state == "broken" for check in found)
    if as_json:
        print_json({"good": not broken, "checks": [_facts(check, words) for check in found]})
    else:
        _print(console(), words, found, broken)
    if broken:
        click.get_current_context().exit(1)


def _address(given: str) -> str:
    """Return the address of an upstream, as it is given here or to `serve`: `openai=https://…`."""
    name, is_named, address = given.partition("=")
    return address if is_named and name in PROVIDERS else given


def _facts(check: Check, words: Phrases) -> dict[str, object]:
    advice = words(check.advice, **check.facts) if check.advice else ""
    found = words(check.found, **check.facts)
    return {"check": check.name, "state": check.state, "found": found, "what_to_do": advice}


def _print(out: Console, words: Phrases, found: Sequence[Check], broken: int) -> None:
    columns = (Column(words("state"), 6), Column(words("checked"), 14), Column(words("finding"), whole=True))
    rows: list[tuple[Text | str, ...]] = []
    for check in found:
        style = _STYLES[check.state]
        found_text = words(check.found, **check.facts)
        said = first_words(found_text, len(found_text))
        rows.append((Text(words(check.state), style=style), words(f"check {check.name}"), said))
        if check.advice:
            advice = printable(words(check.advice, **check.facts))
            rows.append(("", "", Text(f"→ {advice}", style="bold" if check.state == "broken" else "dim")))
    print_table(out, columns, rows)
    summary = words("some broken", count=broken) if broken else words("all good")
    print_text(out, summary, "red" if broken else "green")
