"""What errors of a database, of its tenants and of ids say in Chinese. Errors that are not here stay English.

An error has its facts as attributes: they are filled in by name.
"""

from collections.abc import Mapping

from sightline.errors import BadSessionId, UnknownItem
from sightline.fleet import errors

CHINESE: Mapping[type[Exception], str] = {
    BadSessionId: "会话 id {session_id!r} 无效：请使用 1 到 128 个字母、数字、'-'、'_' 或 '.'，首字符不能是 '.'",
    UnknownItem: "此分支上没有第 #{item_id} 项；`sightline sessions show` 列出各项的 id",
    errors.Unreachable: "无法连接 {where}：{why}",
    errors.LoginRefused: "无法连接 {where}：{why}",
    errors.TablesRefused: (
        "无法在 {where} 中创建或使用数据表：{why}；请以数据表所有者的角色运行 `sightline store migrate`，"
        "并按 docs/tenants.md 为当前角色授权"
    ),
    errors.NewerTables: (
        "schema {schema!r} 中的表为版本 {done}，而此版本的 Sightline 只支持到 {known}；未作任何更改：请安装最新版本"
    ),
    errors.NewerQueue: (
        "schema {schema!r} 中的后台工作队列属于更新版本的 procrastinate（{done}），未作任何更改："
        "pip install -U 'procrastinate<4'"
    ),
    errors.WorkRefused: (
        "数据库不允许此角色执行后台工作（{why}）：请以数据表所有者运行 `sightline store migrate`，"
        "再执行 docs/tenants.md 中的 GRANT 语句"
    ),
    errors.RefusedByDatabase: "{where} 拒绝了请求：{why}",
    errors.LostDatabase: "与 {where} 的连接已断开：{why}",
    errors.LostAnswer: "与 {where} 的连接已断开：{why}；操作是否完成不得而知",
    errors.UnguardedRole: (
        "数据库角色 {role!r} 不受行级安全约束，一旦出错，一个租户的数据可能被另一个租户看到；"
        "请以普通角色（非超级用户，无 BYPASSRLS）连接：命令见 docs/tenants.md"
    ),
    errors.UnknownTenant: "没有租户 {name!r}；`sightline tenant list` 列出现有租户，`sightline tenant create` 添加租户",
    errors.TenantExists: "租户 {name!r} 已存在，或正在删除；见 `sightline tenant list`",
    errors.NeededTenant: (
        "不能删除租户 {name!r}：地址中未指明租户的命令和服务器都使用它，删除后它们会被拒绝；"
        "`sightline sessions delete` 可删除其会话，`sightline token revoke` 可吊销其令牌"
    ),
    errors.BadTenantName: ("{name!r} 不能作为租户名：请使用最多 63 个字母、数字、'.'、'_' 和 '-'，并以字母或数字开头"),
    errors.BadLimits: "限额为 0（不限）或更大：每分钟最多 1,000,000 个请求，最多保留 100,000 天",
    errors.UnknownToken: "没有令牌 {token!r}；`sightline token list` 列出令牌的 id",
    errors.NoAddress: "数据库地址以 postgresql:// 开头，例如 postgresql://user@host/name",
    errors.UnreadableAddress: "无法解析此地址；它形如 postgresql://user@host:5432/name?pool=10",
    errors.BadSchemaName: "{name!r} 不能作为 schema 名：请使用小写字母、数字和 '_'",
    errors.NamelessTenant: "租户名至少有一个字符",
    errors.BadPool: "pool={count} 无效：一个进程可有 1 到 1000 个连接",
    errors.UnknownParameter: "地址 {where} 中有 libpq 不认识的参数",
    errors.NoQueue: "使用 PostgreSQL 的后台工作需要额外的软件包：pip install 'sightline-context[postgres]'（{why}）",
    errors.NoDriver: "PostgreSQL 会话需要额外的软件包：pip install 'sightline-context[postgres]'（{why}）",
}


def error_text(error: Exception, language: str) -> str:
    """Return what an error says, in this language if it is known there."""
    if language == "zh" and type(error) in CHINESE:
        return CHINESE[type(error)].format(**vars(error))
    return str(error)
