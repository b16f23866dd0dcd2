"""What people see, in English and Chinese: a table of phrases, longer than other files because it is only data.

Most of the library's errors stay English; those that are not are in `error_phrases`.
"""

from collections.abc import Mapping
from typing import Any

from sightline.values import phrases

LANGUAGES = phrases.LOCALES

_PHRASES = {
    # titles of columns
    "session": ("session", "会话"),
    "written": ("last change", "最近写入"),
    "entries": ("entries", "条目"),
    "branches": ("branches", "分支"),
    "size": ("size", "大小"),
    "begins": ("first message", "第一条消息"),
    "item": ("item", "项"),
    "items": ("items", "项数"),
    "kind": ("kind", "类型"),
    "full": ("full", "全文"),
    "summary": ("summary", "摘要"),
    "gist": ("gist", "要点"),
    "says": ("text", "内容"),
    "level": ("shown as", "显示为"),
    "tokens": ("tokens", "token"),
    "of full": ("in full", "全文"),
    "why": ("why", "原因"),
    "call": ("call", "调用"),
    "came": ("new", "新内容"),
    "of limit": ("budget {limit:,}", "预算 {limit:,}"),
    "levels": ("changes", "变化"),
    "reused": ("cached", "缓存"),
    "cost": ("cost", "费用"),
    "vs full": ("vs full", "对全量"),
    "sweep": ("why", "原因"),
    "sample": ("sample", "样例"),
    "title": ("title", "标题"),
    # kinds and levels
    "kind system": ("system", "系统"),
    "kind tools": ("tools", "工具"),
    "kind request": ("request", "请求"),
    "kind user": ("user", "用户"),
    "kind assistant": ("assistant", "助手"),
    "kind call": ("call", "调用"),
    "kind result": ("result", "结果"),
    "kind window": ("window", "窗口"),
    "kind summary": ("summary", "摘要"),
    "kind recall": ("recalled", "召回"),
    "kind preface": ("preface", "前言"),
    "kind index": ("index", "索引"),
    "level full": ("full", "全文"),
    "level summary": ("summary", "摘要"),
    "level gist": ("gist", "要点"),
    "left out": ("not shown", "未显示"),
    # what is done to make things fit
    "reduction": ("to fit the budget", "为适应预算"),
    "removed": ("items", "项数"),
    "saved": ("saved", "节省"),
    "off": ("switched off", "已关闭"),
    "reduction gists": ("shortened", "缩短"),
    "reduction windows": ("smaller windows", "缩小窗口"),
    "reduction summaries": ("replaced by summaries", "由摘要代替"),
    "reduction trim": ("left out (trim)", "略去（trim）"),
    # why older items were shortened, or the prompt changed in another way
    "sweep: forced": ("budget full", "预算将满"),
    "sweep: pays": ("saves money", "更省钱"),
    "sweep: question answered": ("question over", "问题已回答"),
    "sweep: question": ("one question", "回答一个问题"),
    "sweep: cold": ("cache expired", "缓存过期"),
    "sweep: rounds": ("new question", "新的提问"),
    "sweep: window": ("oldest left out", "略去最早消息"),
    "sweep: summary": ("new summary", "新摘要"),
    "sweep: state": ("state changed", "状态已变"),
    "sweep: room": ("more room", "空间变大"),
    "sweep: overflow": ("model refused", "模型拒绝：过长"),
    "command: compact": ("compacted", "已压缩"),
    "command: uncompact": ("uncompacted", "已撤销压缩"),
    "command: expand": ("item expanded", "展开一项"),
    "command: pin": ("item pinned", "固定一项"),
    "settings changed": ("new settings", "设置已改"),
    "tools or system changed": ("new tools or system prompt", "工具或系统提示已改"),
    "composing began": ("Sightline's tools joined", "加入 Sightline 的工具"),
    "window in place": ("window changed", "窗口已变"),
    "first message": ("first message", "第一条消息"),
    "layout": ("new layout", "布局已改"),
    "paged": ("too large for what was free, so paged", "超出剩余空间，分页显示"),
    "parts": ("too large, so shown in parts", "过长，分部分显示"),
    "swept": ("shortened", "已缩短"),
    "asked for": ("asked for", "应要求"),
    # strategies
    "strategy": ("strategy", "策略"),
    "key": ("key", "配置项"),
    "type": ("type", "类型"),
    "default": ("default", "默认值"),
    "about": ("what it does", "作用"),
    "strategy focus": (
        "Shows everything in full while it fits; then shortens what is older and less useful. The default.",
        "放得下时全部完整显示；放不下时再缩短较早、较少用到的内容。默认策略。",
    ),
    "strategy sliding": (
        "Shows the newest messages that fit and shortens nothing. For short questions and answers.",
        "只显示放得下的最新消息，不作缩短。适合简短问答。",
    ),
    "strategy summary": (
        "Has a small model summarise the oldest turns in the background. For conversations over weeks.",
        "由小模型在后台总结最早的几轮。适合长期对话。",
    ),
    "strategy entities": (
        "Shows a state with typed fields instead of the conversation. For forms and bookings.",
        "显示结构化状态，代替对话。适合填表和订票。",
    ),
    "strategy rounds": (
        "Shows files as gists from the next question on, and the newest if messages are many. For data analysis.",
        "读过的文件从下一轮提问起只显示要点；消息过多时只显示最新几条。适合数据分析。",
    ),
    "chosen": ("This project uses {name}, chosen in {file}.", "本项目使用 {name}，由 {file} 选定。"),
    "chosen by default": (
        "This project uses {name}, because no file chooses another strategy.",
        "本项目使用 {name}：没有文件选择其他策略。",
    ),
    # sessions
    "no sessions": (
        "No sessions in {folder} yet. `sightline replay --sample --keep` makes one.",
        "{folder} 中还没有会话。运行 `sightline replay --sample --keep` 可生成一个。",
    ),
    "sessions elsewhere": (
        "Other projects have sessions: `sightline inspect` shows all of them, --project DIR lists those of one.",
        "其他项目有会话：`sightline inspect` 显示全部会话，--project 目录 列出其中一个项目的会话。",
    ),
    "more sessions": ("{count:,} older sessions: add --all", "还有 {count:,} 个较早的会话：加上 --all"),
    "session heading": (
        "{id}  branch {branch}  strategy {strategy}  profile {profile}",
        "{id}  分支 {branch}  策略 {strategy}  配置 {profile}",
    ),
    "item as argument": (
        "unexpected argument {item!r}; `sightline sessions show {session} --item {item}` shows an item in full",
        "多余的参数 {item!r}；`sightline sessions show {session} --item {item}` 显示一项的全文",
    ),
    "branches there are": ("branches: {names}", "分支：{names}"),
    "damaged": ("Damaged lines of the log that are ignored: {count:,}", "日志中损坏而被忽略的行：{count:,}"),
    "changed": (
        "Lines of the log that were changed after they were written, used as they are now: {count:,} (items {items})",
        "日志中写入之后被改动、按现在的内容使用的行：{count:,}（涉及的项 {items}）",
    ),
    "forked": (
        "New branch {branch} of session {session} after #{at}: it shares {items:,} items and is now the current one.",
        "会话 {session} 在 #{at} 之后的新分支 {branch}：共享 {items:,} 项，现为当前分支。",
    ),
    "exported": (
        "{messages:,} messages of session {session} written to {file} ({format}, {bytes}).",
        "会话 {session} 的 {messages:,} 条消息已写入 {file}（{format}，{bytes}）。",
    ),
    "no folder": (
        "there is no folder {folder}: make it first, or choose another one",
        "没有文件夹 {folder}：请先创建，或另选一个",
    ),
    "several sessions": (
        "{given!r} begins the ids of {count} sessions ({first}); write more of the id",
        "有 {count} 个会话的 id 以 {given!r} 开头（{first}）；请多写几个字符",
    ),
    "no such session": (
        "no session {given!r} in this project; `{listing}` lists those there are",
        "此项目中没有会话 {given!r}；`{listing}` 列出现有会话",
    ),
    "project without sessions": (
        "no sessions in this project; `sightline replay --sample --keep` makes one, --project names another",
        "此项目中没有会话；`sightline replay --sample --keep` 可生成一个，--project 可指定其他项目",
    ),
    "no one branch": (
        "{given!r} names {count} branches; there are {labels}",
        "{given!r} 对应 {count} 个分支；现有分支：{labels}",
    ),
    "nothing compacted": (
        "nothing is compacted in session {session!r}; `sightline compact --report` shows what was",
        "会话 {session!r} 中没有压缩；`sightline compact --report` 显示以前的压缩",
    ),
    "no such item": (
        "no item #{item} in session {session!r}; `sightline sessions show` lists them",
        "会话 {session!r} 中没有第 #{item} 项；`sightline sessions show` 列出各项",
    ),
    "item not covered": (
        "item #{item} is covered by no summary: they cover {runs}",
        "没有摘要覆盖第 #{item} 项：摘要覆盖的是 {runs}",
    ),
    "replay what": (
        "name a FILE or SESSION to replay, or --sample for one that is shipped (--list-samples)",
        "请指定要重放的 FILE 或 SESSION，或用 --sample 重放自带的样例（--list-samples 列出样例）",
    ),
    "store no source": (
        "there is no {source}: FROM is a project's folder, a folder with logs, or postgresql://…",
        "{source} 不存在：FROM 应为项目文件夹、日志文件夹或 postgresql://…",
    ),
    "store same place": ("FROM and TO are the same place", "FROM 与 TO 是同一位置"),
    "store bad address": ("a database is postgresql://user@host/name", "数据库地址形如 postgresql://user@host/name"),
    "store is file": (
        "{file} is a file; name the folder that it is in",
        "{file} 是文件；请指定它所在的文件夹",
    ),
    "file exists": (
        "{file} exists already: choose another name, or add --force to replace it",
        "{file} 已存在：请换一个文件名，或加上 --force 覆盖",
    ),
    "really delete": (
        "Delete session {id} and all its files for good?",
        "确定永久删除会话 {id} 及其所有文件吗？",
    ),
    "not deleted": (
        "cannot delete session {id}: {holder} has it open; close it and try again. Nothing was deleted.",
        "无法删除会话 {id}：{holder} 正在使用它；请先关闭，然后重试。没有删除任何内容。",
    ),
    "another process": ("another process", "另一个进程"),
    "store nothing": ("No sessions in {where}.", "{where} 中没有会话。"),
    "of tenant": (
        "{where} (tenant {tenant}; ?tenant=NAME in the address names another)",
        "{where}（租户 {tenant}；在地址中用 ?tenant=NAME 指定其他租户）",
    ),
    "store code copied": (
        "{id}: saved code copied, versions: {versions:,}",
        "{id}：已复制保存的代码，{versions:,} 个版本",
    ),
    "store code grown": (
        "{id}: new versions of the code copied: {versions:,}",
        "{id}：已复制代码的新版本，{versions:,} 个",
    ),
    "store copied": ("{id}: copied, {lines:,} lines", "{id}：已复制，{lines:,} 行"),
    "store grown": ("{id}: {lines:,} new lines copied", "{id}：已复制新增的 {lines:,} 行"),
    "store same": ("{id}: is there already", "{id}：目标中已有"),
    "store older": ("{id}: the target has more of it, nothing copied", "{id}：目标中的内容更新，未复制"),
    "store failed": ("{id}: {why}", "{id}：{why}"),
    "store migrated": ("The tables in {where} have version {version}.", "{where} 中的表为版本 {version}。"),
    "store done": (
        "Sessions: {count:,}, saved code: {code:,}; from {source} to {target}",
        "{count:,} 个会话，{code:,} 份保存的代码，从 {source} 到 {target}",
    ),
    "deleted": ("Session {id} is deleted.", "会话 {id} 已删除。"),
    # tenants, tokens and the audit trail
    "tenant": ("tenant", "租户"),
    "tenant created at": ("created", "创建时间"),
    "tenant used": ("stored", "已存储"),
    "tenant max bytes": ("at most", "上限"),
    "tenant requests": ("requests/min", "请求/分钟"),
    "tenant keep": ("keep days", "保留天数"),
    "tenant no limit": ("–", "–"),
    "tenant ended": (
        "being deleted: run `sightline tenant delete` again",
        "正在删除：请再次运行 `sightline tenant delete`",
    ),
    "tenant size": (
        "{value} is no size; write it like 500MB, 10GB, or 0 for no limit",
        "{value} 不是大小；请写成 500MB、10GB，或 0 表示不限",
    ),
    "tenant no change": (
        "name a limit to change: --requests-per-minute, --max-bytes or --keep-days",
        "请指明要更改的限额：--requests-per-minute、--max-bytes 或 --keep-days",
    ),
    "nobody to ask": ("nobody can be asked here: add --yes", "此处无法询问确认：请加上 --yes"),
    "store ambiguous": (
        "{folder} is a project with sessions, and logs of sessions lie in it too; for the project's sessions name "
        "{sessions}, for the logs move them to a folder of their own and name that",
        "{folder} 是有会话的项目，其中又有会话日志；要用项目的会话，请指明 {sessions}；"
        "要用这些日志，请把它们移到单独的文件夹并指明该文件夹",
    ),
    "store no database": (
        "name the database: --store postgresql://user@host/name, or SIGHTLINE_STORE",
        "请指明数据库：--store postgresql://user@host/name 或 SIGHTLINE_STORE",
    ),
    "tenant created": (
        "Tenant {name} is created. `sightline token create {name}` gives out a token.",
        "租户 {name} 已创建。`sightline token create {name}` 可为其发放令牌。",
    ),
    "tenant changed": (
        "Tenant {name} is changed. Servers follow within seconds.",
        "租户 {name} 已更改，各服务器数秒内生效。",
    ),
    "really delete tenant": (
        "Delete tenant {name} with its tokens, sessions and saved code ({used}) for good?",
        "确定永久删除租户 {name} 及其令牌、会话和保存的代码（{used}）吗？",
    ),
    "tenant deleting": ("deleting {name}", "正在删除 {name}"),
    "tenant deleted": (
        "Tenant {name} is deleted, with sessions: {sessions:,}.",
        "租户 {name} 已删除，连同 {sessions:,} 个会话。",
    ),
    "tenant pruned": ("{name}: sessions deleted: {count:,}", "{name}：已删除 {count:,} 个会话"),
    "audit pruned": (
        "Audit trail: lines older than {days} days deleted: {count:,}",
        "审计记录：已删除 {count:,} 条早于 {days} 天的记录",
    ),
    "token": ("token", "令牌"),
    "token created": (
        "Token {id} of {tenant}. It is shown only now: keep it in a safe place.",
        "{tenant} 的令牌 {id}。仅此一次显示，请妥善保存。",
    ),
    "token none": (
        "No tokens. `sightline token create TENANT` creates one.",
        "没有令牌。`sightline token create TENANT` 可创建。",
    ),
    "token used": ("last used", "最近使用"),
    "token until": ("works until", "有效期至"),
    "token name": ("for", "用途"),
    "token never": ("never", "从未使用"),
    "token always": ("no end", "不过期"),
    "token revoked at": ("revoked {at}", "已于 {at} 吊销"),
    "token revoked": (
        "Token {id} of {tenant} is revoked. Every server refuses it within seconds.",
        "{tenant} 的令牌 {id} 已吊销，各服务器数秒内拒绝使用。",
    ),
    "audit none": ("Nothing was noted yet.", "尚无记录。"),
    "audit number": ("number", "编号"),
    "audit at": ("when", "时间"),
    "audit by": ("by", "操作者"),
    "audit action": ("what", "操作"),
    "audit subject": ("on", "对象"),
    # context
    "context heading": (
        "What the model would see now: {id}, branch {branch}",
        "模型现在会看到的内容：{id}，分支 {branch}",
    ),
    "context tokens": (
        "{tokens:,} tokens, budget {limit:,}, {free:,} free",
        "{tokens:,} 个 token，预算 {limit:,}，剩余 {free:,}",
    ),
    "context factor": (
        "; the model counts {factor:.2f} tokens for each one counted here",
        "；这里计 1 个 token，模型计 {factor:.2f} 个",
    ),
    "context levels": (
        "Items shown in full: {full:,}, as a summary: {summary:,}, as a gist: {gist:,}",
        "显示全文 {full:,} 项，摘要 {summary:,} 项，要点 {gist:,} 项",
    ),
    "state": (
        "Known so far: {state}. User messages that are not read for it yet: {count:,}; they stay in the prompt.",
        "目前已知：{state}。尚未读取的用户消息：{count:,} 条，它们保留在提示中。",
    ),
    "sweep now": (
        "The next call shortens older items ({reason}). Shown here is the prompt after that.",
        "下一次调用会先缩短较早的内容（{reason}）；以上是缩短后的结果。",
    ),
    "uncompacted next": (
        "The next call shows the compacted messages again; the prompt prefix changes. Shown here is the prompt after "
        "that.",
        "下一次调用会重新显示压缩过的消息，提示前缀随之改变；以上是改变后的结果。",
    ),
    "changed next": (
        "The next call changes what was already sent ({reason}), so the prompt prefix changes. Shown here is the "
        "prompt after that.",
        "下一次调用会改变已发送的内容（{reason}），提示前缀随之改变；以上是改变后的结果。",
    ),
    "sweep later": (
        "Older items are shortened once the prompt has more than {above:,} tokens, {room:,} more than now.",
        "超过 {above:,} 个 token 时会缩短较早的内容，还差 {room:,}。",
    ),
    "sweep when cold": (
        "Also after {minutes} minutes without a call, because then the provider's cache has expired.",
        "若 {minutes} 分钟内没有调用，服务商的缓存已过期，也会缩短。",
    ),
    "items by size": ("Items, the largest first:", "各项（从大到小）："),
    "items in order": ("Items, in the order in which the model reads them:", "各项（按模型阅读的顺序）："),
    "more items": ("{count:,} more items: add --all", "其余 {count:,} 项：加上 --all"),
    "stands for one": (
        "Summary {summaries} replaces one message, #{first}, {tokens:,} tokens in full; `sightline uncompact` shows it "
        "again.",
        "摘要 {summaries} 代替 #{first} 这条消息，全文 {tokens:,} 个 token；`sightline uncompact` 可恢复。",
    ),
    "stands for": (
        "Summary {summaries} replaces {messages:,} messages, #{first} to #{last}, {tokens:,} tokens in full; "
        "`sightline uncompact` shows them again.",
        "摘要 {summaries} 代替 #{first} 至 #{last} 的 {messages:,} 条消息，全文 {tokens:,} 个 token；"
        "`sightline uncompact` 可恢复。",
    ),
    "faults": (
        "Results that the agent fetched again because they had been shortened: {count:,}, {tokens:,} tokens.",
        "缩短后又被重新读取的结果：{count:,} 个，{tokens:,} 个 token。",
    ),
    # compact
    "summaries off": ("Summaries are switched off in this session.", "本会话已关闭摘要。"),
    "compact again": (
        " To repeat the last compaction, undo it first with `sightline uncompact`.",
        "。若要重做最近一次压缩，请先运行 `sightline uncompact`。",
    ),
    "compacting": ("compacting", "压缩中"),
    "asking": ("asking {command} (at most {seconds:g} s)", "正在询问 {command}（最多 {seconds:g} 秒）"),
    "compacted": ("Compacted: {id}, branch {branch}", "已压缩：{id}，分支 {branch}"),
    "would compact": (
        "Would be compacted: {id}, branch {branch}. Nothing is written.",
        "将被压缩：{id}，分支 {branch}。未写入任何内容。",
    ),
    "from to": ("{pre:,} → {post:,} tokens", "{pre:,} → {post:,} 个 token"),
    "less": (", {share} less", "，减少 {share}"),
    "more": (", {share} more", "，增加 {share}"),
    "fitting": ("; budget {limit:,}", "；预算 {limit:,}"),
    "covered one": (
        "The summary replaces one message, #{first}, {tokens:,} tokens in full.",
        "摘要代替 #{first} 这条消息，全文 {tokens:,} 个 token。",
    ),
    "covered": (
        "The summary replaces {messages:,} messages, #{first} to #{last}, {tokens:,} tokens in full.",
        "摘要代替 #{first} 至 #{last} 的 {messages:,} 条消息，全文 {tokens:,} 个 token。",
    ),
    "would ask": (
        "{command} would get a request of {tokens:,} tokens; the result below is that of a summary made by rule.",
        "将向 {command} 发送 {tokens:,} 个 token；以下是按规则生成的摘要的结果。",
    ),
    "files included": ("Files given to the model as they are now: {files}", "提供给模型的文件（当前内容）：{files}"),
    "summary by rule": ("summary made by rule, {tokens:,} tokens", "摘要（按规则生成），{tokens:,} 个 token"),
    "summary by command": ("summary, {tokens:,} tokens", "摘要，{tokens:,} 个 token"),
    "more lines": ("{count:,} more lines: add --full", "其余 {count:,} 行：加上 --full"),
    "kept words": (
        "Constraints that the user stated in these messages, still shown word for word: {count:,}",
        "用户在这些消息中的要求，仍逐字显示：{count:,}",
    ),
    "nothing to keep": (
        "The user stated no constraints in these messages.",
        "用户在这些消息中没有提出要求。",
    ),
    "more kept": ("{count:,} more: add --full", "其余 {count:,} 条：加上 --full"),
    "lost": (
        "No longer visible to the model; all of it is still in the log:",
        "模型不再能看到的内容（日志中都有）：",
    ),
    "nothing lost": (
        "Every constraint, path, name, number and error line is still visible; all other text is in the log.",
        "要求、路径、名称、数字和错误行都还能看到；其他内容都在日志中。",
    ),
    "how many": ("count", "数量"),
    "the first": ("the first ones", "前几个"),
    "lost constraints": ("constraints", "要求"),
    "lost paths": ("paths", "路径"),
    "lost identifiers": ("identifiers", "标识符"),
    "lost numbers": ("numbers", "数字"),
    "lost errors": ("errors", "错误"),
    "no summary": ("No summary from the command: {error}.", "命令没有给出摘要：{error}。"),
    "it said": ("Its error output: {words}", "它的错误输出：{words}"),
    "try again": (
        "A summary made by rule is used instead. To try again: {command} (it had {seconds} seconds; --seconds)",
        "已改用按规则生成的摘要。再试一次：{command}（限时 {seconds} 秒；--seconds）",
    ),
    "after compact": (
        "`sightline uncompact` undoes it, `sightline uncompact ID` shows one item again.",
        "`sightline uncompact` 可撤销，`sightline uncompact 编号` 可恢复其中一项。",
    ),
    "after dry run": ("Run it without --dry-run to do this.", "去掉 --dry-run 即可执行。"),
    "never compacted": (
        "Nothing has been compacted in session {id}; `sightline compact` does it.",
        "会话 {id} 从未压缩过；`sightline compact` 可压缩。",
    ),
    "made": ("{when}  {by}, {state}", "{when}  {by}，{state}"),
    "by rule": ("made by rule", "按规则生成"),
    "by model": ("made by a model", "由模型生成"),
    "holds": ("in effect", "有效"),
    "undone": ("undone", "已撤销"),
    "replaced": ("replaced by a later one", "已被之后的压缩取代"),
    "tokens then": ("{pre:,} → {post:,} tokens when it was made.", "生成时 {pre:,} → {post:,} 个 token。"),
    "all brought back": (
        "Undone in session {session}: {messages:,} messages, #{first} to #{last}, are shown again from the next call "
        "on.",
        "会话 {session} 已撤销压缩：从下一次调用起，重新显示 #{first} 至 #{last} 的 {messages:,} 条消息。",
    ),
    "brought back": (
        "Item #{item} of session {session} is shown in full again.",
        "会话 {session} 的 #{item} 重新全文显示。",
    ),
    "will be brought back": (
        "Item #{item} of session {session} is shown in full again as soon as it fits the budget.",
        "会话 {session} 的 #{item} 将在预算放得下时重新全文显示。",
    ),
    # import
    "importing": ("importing {name}", "正在导入 {name}"),
    "imported": (
        "{name} ({kind}) is now session {session}: {lines:,} lines, {messages:,} messages.",
        "{name}（{kind}）已导入为会话 {session}：{lines:,} 行，{messages:,} 条消息。",
    ),
    "import grown": (
        "{name} ({kind}), session {session}: {added:,} new lines, {messages:,} new messages.",
        "{name}（{kind}），会话 {session}：新增 {added:,} 行，{messages:,} 条消息。",
    ),
    "import unchanged": (
        "{name} ({kind}) has been imported before as session {session}: nothing is new.",
        "{name}（{kind}）此前已导入为会话 {session}：没有新内容。",
    ),
    "line type": ("line type", "行的类型"),
    "lines": ("lines", "行数"),
    "all types": ("all, each kept", "合计（全部保留）"),
    "use message": ("messages", "消息"),
    "use summary": ("summaries", "摘要"),
    "use aside": ("not current", "非当前"),
    "use metadata": ("metadata", "元数据"),
    "use unknown": ("unknown", "未知"),
    "use unreadable": ("no JSON", "非 JSON"),
    "import usage": (
        "tokens of the recorded calls: {input:,} read ({cached:,} from the cache, {written:,} written to it), "
        "{output:,} answered",
        "所记录调用的 token：输入 {input:,}（其中缓存读取 {cached:,}，写入缓存 {written:,}），输出 {output:,}",
    ),
    "import refused": ("Not imported: {name}: {error}", "未导入：{name}：{error}"),
    # report
    "reporting": ("reading sessions", "正在读取会话"),
    "report written": ("The page is in {file}.", "页面已写入 {file}。"),
    "report empty": (
        "no sessions there; name a folder with logs of Claude Code, Codex or Sightline",
        "那里没有会话；请指定含有 Claude Code、Codex 或 Sightline 日志的文件夹",
    ),
    "report no folders": (
        "no logs in ~/.claude/projects or ~/.codex/sessions; name a folder, or try `sightline report SESSION`",
        "~/.claude/projects 和 ~/.codex/sessions 中没有日志；请指定文件夹，或试试 `sightline report 会话`",
    ),
    "report refused": (
        "no session could be read:{lines}",
        "没有可读取的会话：{lines}",
    ),
    # replay
    "what is shown": (
        "Each row is one call to the model. Before each call, Sightline chooses what fits a context window of "
        "{window:,} tokens; shortened items keep a handle such as #12 and stay in the log in full. Most calls only "
        "append to the call before, so the provider reads nearly all of the prompt from its cache (column cached), at "
        "a tenth of the price. In a yellow row older items were shortened: rarely and many at once, because every such "
        "change makes the provider read the rest of the prompt anew.",
        "每一行是对模型的一次调用。调用之前，Sightline 选出能放进 {window:,} 个 token 上下文窗口的内容；"
        "被缩短的内容带有 #12 这样的编号，原文都在日志里。多数调用只在前一次之后追加，"
        "服务商几乎全部从缓存读取（缓存一列），价格只有十分之一。黄色的行缩短了较早的内容：次数少，一次缩短多项，"
        "因为每次改变都要让服务商重新读取其后的提示。",
    ),
    "no such file": (
        "{file} is no file, and no session of this project has an id that begins so: `sightline sessions` lists them",
        "{file} 不是文件，本项目也没有编号以此开头的会话：`sightline sessions` 可列出会话",
    ),
    "replaying": ("replaying", "重放中"),
    "strategy not replayed": (
        "Replaying with strategy focus: {file} chooses {strategy}, which a replay cannot show, because it calls no "
        "model and only has {others}. `--strategy` chooses one of them.",
        "以策略 focus 重放：{file} 指定的是 {strategy}，但重放不调用模型，只支持 {others}。可用 `--strategy` 选择。",
    ),
    "no economy": (
        "--economy is of the strategy focus, which --strategy {strategy} replaces: name one of the two",
        "--economy 属于策略 focus，而 --strategy {strategy} 指定了另一种策略：两者只能选一个",
    ),
    "budget margin": (
        "The context window allows {allowed:,} tokens: {window:,} less {output:,} for the answer and a margin of "
        "{margin:.0%}, because this provider does not say how it counts.",
        "上下文窗口允许 {allowed:,} 个 token：{window:,} 减去留给回答的 {output:,}，再留 {margin:.0%} 的余量，"
        "因为该服务商未公开其计数方式。",
    ),
    "budget of economy": (
        "The budget is {limit:,} of {allowed:,} tokens: economy = {economy} uses no more, however large the context "
        "window is.",
        "预算为 {allowed:,} 个 token 中的 {limit:,} 个：无论上下文窗口多大，economy = {economy} 都不会用得更多。",
    ),
    "fell summary": ("{count}→summary", "{count}→摘要"),
    "fell gist": ("{count}→gist", "{count}→要点"),
    "fell out": ("{count} left out", "略去 {count}"),
    "rose": ("{count} restored", "恢复 {count}"),
    "entered": ("{count} results as summary", "{count} 个结果显示为摘要"),
    "entered one": ("{count} result as summary", "{count} 个结果显示为摘要"),
    "summed up": ("in total", "总计"),
    "total calls": (
        "{calls:,} calls, older items shortened {sweeps:,} times, largest prompt {largest:,} tokens",
        "{calls:,} 次调用，{sweeps:,} 次缩短较早内容，最大提示 {largest:,} 个 token",
    ),
    "total tokens": (
        "{tokens:,} tokens sent, {reused:.0%} of them cached",
        "共发送 {tokens:,} 个 token，其中 {reused:.0%} 可由缓存读取",
    ),
    "total cost": (
        "they cost as much as {cost:,.0f} input tokens that are not cached",
        "费用相当于 {cost:,.0f} 个未缓存的输入 token",
    ),
    "total reread": (
        "answers that used text which was not shown: {count:,}; reading it again, {tokens:,} tokens, would cost "
        "{cost:,.0f}",
        "用到了未显示内容的回答：{count:,} 次；重新读取 {tokens:,} 个 token，费用 {cost:,.0f}",
    ),
    "no reread": ("no answer used text that was not shown", "没有回答用到未显示的内容"),
    "total real": (
        "cost in all {cost:,.0f}; sending the full history every time {full:,.0f}: {ratio:.0%}",
        "总费用 {cost:,.0f}；每次发送全部历史为 {full:,.0f}：{ratio:.0%}",
    ),
    "costs more": (
        "that is more, because so small a context window is soon full; a larger one (--window) costs less",
        "比全部历史更贵：窗口太小，很快就满；用 --window 增大窗口可降低费用",
    ),
    "tools cost more": (
        "the difference is the tools `expand` and `recall`, which are sent too; no older item was shortened",
        "差别在于同时发送了工具 `expand` 和 `recall`；没有缩短较早的内容",
    ),
    "economy costs more": (
        "that is more: here the {limit:,} tokens of economy = {economy} do not pay; --economy safe uses the whole "
        "window",
        "比全部历史更贵：这里 economy = {economy} 的 {limit:,} 个 token 不划算；--economy safe 使用整个窗口",
    ),
    "total money": (
        "in money, answers included: {sent:,.4f}; the full history {full:,.4f}: {ratio:.0%} (a million tokens at "
        "{price})",
        "金额（含回答）：{sent:,.4f}；全部历史 {full:,.4f}：{ratio:.0%}（每百万 token 价格 {price}）",
    ),
    "no price": (
        "in money: no price of {model} is known here; --price 2/10/0.2 says it (input, output, cached, for a million "
        "tokens)",
        "金额：不知道 {model} 的价格；可用 --price 2/10/0.2 指定（每百万 token 的输入、输出、缓存价格）",
    ),
    "reread": ("{count} to read again", "需重读 {count}"),
    "unlike report": (
        "Unlike `sightline report`, a replay counts only what the log shows (of most agents neither the system prompt "
        "nor the tools), undoes the agent's own compactions, knows no pauses, and does not cut the full history at the "
        "context window.",
        "与 `sightline report` 不同，重放只计日志中有的内容（多数智能体的日志没有系统提示和工具），不采用智能体自己的"
        "压缩，不计停顿，全部历史也不以上下文窗口为限。",
    ),
    "outgrown": (
        "the full history would not have fitted from call {call:,} on",
        "从第 {call:,} 次调用起，全部历史已放不进上下文窗口",
    ),
    "total breaks": ("prompt prefix changed: {breaks}", "提示前缀改变：{breaks}"),
    "no breaks": ("never", "从未"),
    "total invalid": ("requests that a provider would refuse: {invalid:,}", "会被服务商拒绝的请求：{invalid:,}"),
    "kept": (
        "Stored as session {id}: `sightline context` shows what it would send now, `sightline verify` checks it.",
        "已保存为会话 {id}：`sightline context` 查看现在会发送的内容，`sightline verify` 校验。",
    ),
    "try next": (
        "Try next:\n"
        "  sightline replay --sample{name} --window {window} --slow   # a smaller context window, slowly\n"
        "  sightline replay --sample{name} --strategy sliding   # only the newest messages, to compare\n"
        "  sightline replay --list-samples   # other samples\n"
        "  sightline replay messages.json   # messages of your own, or a log of Claude Code or Codex",
        "接下来可以试试：\n"
        "  sightline replay --sample{name} --window {window} --slow   # 更小的上下文窗口，慢慢看\n"
        "  sightline replay --sample{name} --strategy sliding   # 只保留最新消息，作比较\n"
        "  sightline replay --list-samples   # 其他样例\n"
        "  sightline replay messages.json   # 你自己的对话，或 Claude Code、Codex 的日志",
    ),
    # apps
    "action": ("action", "操作"),
    "parameters": ("parameters", "参数"),
    "try app": (
        "`sightline apps run todo` opens one here: you see what a model sees, and use it as a model does.",
        "`sightline apps run todo` 可在此打开一个应用：看到的与模型看到的完全相同，并可操作。",
    ),
    "try help": ("`help` lists what you can type; Ctrl-D ends.", "输入 `help` 查看可用的输入；Ctrl-D 结束。"),
    "seen": (
        "{id}, level of detail {level}, format {form}: {tokens:,} tokens",
        "{id}，详细程度 {level}，格式 {form}：{tokens:,} 个 token",
    ),
    "seen again": (
        "{id}, level of detail {level}, format {form}: {tokens:,} tokens, unchanged",
        "{id}，详细程度 {level}，格式 {form}：{tokens:,} 个 token，未变",
    ),
    "has failed": ("failed: {why}", "失败：{why}"),
    "has opened": ("Opened: {ids}. `window {first}` goes there.", "已打开：{ids}。输入 `window {first}` 前往。"),
    "all closed": ("No window is open any more.", "已没有打开的窗口。"),
    "no action": ("window {id} has no action or button {name}", "窗口 {id} 没有操作或按钮 {name}"),
    "no window left": ("no window is open any more", "已没有打开的窗口"),
    "bad quote": (
        "the {quote} at column {column} is not closed before a space; write \\{quote} for the character itself",
        "第 {column} 列的 {quote} 没有在空格前闭合；若要输入引号本身，请写 \\{quote}",
    ),
    "too many words": (
        "{name} takes no further parameter for: {words}",
        "{name} 没有多余的参数可填：{words}",
    ),
    "choose": ("write it as `{word} {choices}`", "请写作 `{word} {choices}`"),
    "help how": (
        'Type an action and its parameters: `add buy milk`, or `add text="buy milk"`. Words fill the parameters in '
        "order, and the last parameter takes all remaining words.",
        '输入操作及其参数：`add buy milk`，或 `add text="buy milk"`。各词依次填入参数，最后一个参数取余下全部。',
    ),
    "help buttons": (
        "Buttons in this window, also written as [button:…]: {keys}",
        "本窗口中的按钮（也可写作 [button:…]）：{keys}",
    ),
    "help besides": (
        "Commands of this prompt (write an action of the same name as [button:…]):",
        "本提示符的命令（同名的操作请写作 [button:…]）：",
    ),
    "help level": ("show more or less detail", "显示得更多或更少"),
    "help as": ("choose the format", "选择格式"),
    "help window": ("list the open windows, go to one", "列出打开的窗口，前往其中一个"),
    "help quit": (
        "show this help; end. An empty line shows the window again",
        "显示本说明；结束。空行：再次显示窗口",
    ),
    # model
    "model": ("model", "模型"),
    "window": ("context window", "上下文窗口"),
    "model by variable": ("named by {where}", "由 {where} 指定"),
    "model by configured": ("configured in {where}", "由 {where} 配置"),
    "model by key": ("{where} is set", "已设置 {where}"),
    "model by server": ("{where} is running here", "本机正在运行 {where}"),
    "model by file": ("a file named in {where}", "由 {where} 指定的文件"),
    "model by tiny": (
        "the tiny model, for trying Sightline out; its answers are not reliable",
        "微型模型：可试用功能，回答不可靠",
    ),
    "key missing": ("; no key: set {variable}", "；缺少密钥：请设置 {variable}"),
    "choose model": (
        "The first one is used. Choose another with --model, SIGHTLINE_MODEL or `model` in sightline.toml.",
        "默认使用第一个。可用 --model、SIGHTLINE_MODEL 或 sightline.toml 中的 `model` 另选。",
    ),
    "no model": (
        "No model is configured, and none was found on this machine. Each of these helps, the quickest first:\n"
        "  sightline model get           fetches a tiny model ({size} MB), to try Sightline out{first}\n"
        "  a key in the environment      {variables}, …\n"
        "  a server on this machine      {servers}, …: found while it runs\n"
        "  sightline chat -m PATH.gguf   a model's file, run in this process{first}\n"
        "  [model] in sightline.toml     any other model: see docs/chat.md",
        "没有配置模型，本机也没有找到。以下任选其一，最快的在前：\n"
        "  sightline model get           获取微型模型（{size} MB），用于试用{first}\n"
        "  环境变量中的密钥              {variables} 等\n"
        "  本机上的服务                  {servers} 等：运行时会被发现\n"
        "  sightline chat -m PATH.gguf   模型文件，在本进程中运行{first}\n"
        "  sightline.toml 中的 [model]   其他任何模型：见 docs/chat.md",
    ),
    "local first": (
        "; first: pip install 'sightline-context[local]'",
        "；请先运行 pip install 'sightline-context[local]'",
    ),
    "too small for tools": (
        "{model} is too small to use tools: it gets no tools and no app windows, and answers in plain text.",
        "{model} 太小，无法使用工具：不提供工具和应用窗口，它只以纯文本回答。",
    ),
    "fetching": ("Fetching the tiny model, {size} MB …", "正在获取微型模型，{size} MB……"),
    "really fetch": (
        "Fetch SmolLM2 with 135 million parameters ({size} MB)? It is good for trying Sightline out, not for answers.",
        "获取 SmolLM2（1.35 亿参数，{size} MB）吗？它可用来试用功能，但回答不可靠。",
    ),
    "fetched": (
        "Fetched: {file}. `sightline chat` uses it if there is no other model; --model tiny always does.",
        "已获取：{file}。没有其他模型时 `sightline chat` 会使用它；也可用 --model tiny 指定。",
    ),
    "fetched before": ("It was fetched before: {file}", "已在本机：{file}"),
    # trust
    "trust none": (
        "No folder is trusted. `sightline chat` asks where it is needed.",
        "没有受信任的文件夹。需要时 `sightline chat` 会询问。",
    ),
    "trust since unknown": ("time not known", "时间不详"),
    "trust file": ("{file}, as it was then:", "{file}（当时的内容）："),
    "trust texts read": (
        "AGENTS.md and CLAUDE.md are part of the system prompt",
        "AGENTS.md 和 CLAUDE.md 是系统提示的一部分",
    ),
    "trust texts unread": (
        "AGENTS.md and CLAUDE.md are not read, as you answered; --withdraw lets the next chat ask again",
        "不读取 AGENTS.md 和 CLAUDE.md（你回答了否）；--withdraw 后下次对话会再问",
    ),
    "trust how to withdraw": (
        "`sightline trust --withdraw FOLDER` withdraws what was allowed for a folder.",
        "`sightline trust --withdraw 文件夹` 可撤回对该文件夹的允许。",
    ),
    "trust withdrawn": (
        "Withdrawn: {folder} is no longer trusted. The next chat there asks again.",
        "已撤回：不再信任 {folder}。下次在那里对话时会再询问。",
    ),
    "serve at": ("Serving at {address} (Ctrl-C ends it)", "正在 {address} 提供服务（Ctrl-C 结束）"),
    "serve how": (
        "Tell your agent: ANTHROPIC_BASE_URL={address} or OPENAI_BASE_URL={address}/v1",
        "告诉你的智能体：ANTHROPIC_BASE_URL={address} 或 OPENAI_BASE_URL={address}/v1",
    ),
    "serve everywhere": (
        "It listens at every address of this machine ({host}), here also at 127.0.0.1:{port}; agents behind a load "
        "balancer or outside a container use that one's address",
        "它在本机所有地址（{host}）上监听，本机也可用 127.0.0.1:{port}；"
        "负载均衡器之后或容器之外的智能体请使用相应的外部地址",
    ),
    "serve port taken": (
        "port {port} is in use; --port 0 takes a free one",
        "端口 {port} 已被占用；--port 0 使用空闲端口",
    ),
    "serve tenants": (
        "Each caller shows a token of its tenant instead of TOKEN: `sightline token create` makes one",
        "每个调用方用其租户的令牌代替 TOKEN：`sightline token create` 可创建令牌",
    ),
    "serve tenants store": (
        "tenants are in a database: name it with --store postgresql://user@host/name, or in SIGHTLINE_STORE",
        "租户存放在数据库中：请用 --store postgresql://user@host/name 或 SIGHTLINE_STORE 指定",
    ),
    "serve inspector": ("See what the models saw: {address}", "查看模型看到了什么： {address}"),
    "inspect at": ("The inspector: {address} (Ctrl-C ends it)", "检视器： {address} （Ctrl-C 结束）"),
    "inspect not built": (
        "The pages of the inspector are not built, so its address shows nothing yet: run `make pages` in the copy of "
        "the repository.",
        "检视器的页面尚未构建，其地址暂时不显示任何内容：请在代码库副本中运行 `make pages`。",
    ),
    "inspect no model": (
        "No model was found, so the page cannot chat; all else works. `sightline model list` says how to get one.",
        "没有找到模型，页面不能对话，其余功能可用。`sightline model list` 说明如何配置。",
    ),
    "inspect goes on": ("The inspector goes on until Ctrl-C.", "检视器继续运行，按 Ctrl-C 结束。"),
    "serve token": (
        "The token of this server, shown only now: {token}. Callers send it as X-Sightline-Token, or use the address "
        "/token/{token}",
        "本服务的令牌，仅显示这一次：{token}。调用方以 X-Sightline-Token 发送，或使用地址 /token/{token}",
    ),
    "worker store": (
        "background work of several servers needs their database: --store postgresql://user@host/name, or "
        "SIGHTLINE_STORE; a server over files does its own",
        "多个服务器的后台工作需要它们的数据库：--store postgresql://user@host/name，或 SIGHTLINE_STORE；"
        "使用文件的服务器自己完成",
    ),
    "worker measured": (
        "How it is: {address}/metrics, {address}/healthz and {address}/readyz",
        "运行状况： {address}/metrics 、 {address}/healthz 和 {address}/readyz",
    ),
    "worker port taken": (
        "port {port} is in use; --metrics-port 0 takes a free one",
        "端口 {port} 已被占用；--metrics-port 0 可使用空闲端口",
    ),
    "worker works": ("Doing background work of {where} (Ctrl-C ends it)", "正在处理 {where} 的后台工作（Ctrl-C 结束）"),
    "serve upstream": (
        "--upstream is anthropic=https://… or openai=https://…/v1, not {given!r}",
        "--upstream 形如 anthropic=https://… 或 openai=https://…/v1，不能是 {given!r}",
    ),
    "wrap no command": (
        "there is no command {command!r}; after -- comes the agent's own command line: sightline wrap -- claude",
        "没有命令 {command!r}；-- 之后是智能体自己的命令行，例如：sightline wrap -- claude",
    ),
    "wrap nothing": (
        "Sightline: no request came through. Does the agent read ANTHROPIC_BASE_URL or OPENAI_BASE_URL?",
        "Sightline：没有请求经过。该智能体是否读取 ANTHROPIC_BASE_URL 或 OPENAI_BASE_URL？",
    ),
    "wrap failed": (
        "Sightline: requests came ({count:,}), and no model answered: {why}",
        "Sightline：收到 {count:,} 个请求，但没有模型应答：{why}",
    ),
    "wrap unanswered": ("requests without an answer", "没有应答的请求"),
    "wrap unanswered value": ("{count:,}; the last: {why}", "{count:,}；最后一次：{why}"),
    "wrap title": ("Sightline: what went through", "Sightline：经过的内容"),
    "wrap calls": ("calls of the model", "模型调用"),
    "wrap offered": ("tokens that the agent sent", "智能体发送的 token"),
    "wrap sent": ("tokens that went to the model", "发给模型的 token"),
    "wrap reported": ("reported by the provider", "服务商报告"),
    "wrap reported value": (
        "{input:,} tokens in ({cached:,} of them cached), {output:,} out",
        "输入 {input:,} 个 token（其中缓存 {cached:,}），输出 {output:,}",
    ),
    "wrap reported cost": ("{said}; cost {cost:,}", "{said}；费用 {cost:,}"),
    "wrap cost": ("cost (forecast)", "费用（估算）"),
    "wrap cost same": (
        "{cost:,}: the same as sending everything (0%), because nothing was shortened",
        "{cost:,}：与发送全部内容相同（0%），因为没有缩短任何内容",
    ),
    "wrap cost less": (
        "{cost:,}: {share:.0%} less than sending everything ({full:,})",
        "{cost:,}：比发送全部内容（{full:,}）少 {share:.0%}",
    ),
    "wrap cost more": (
        "{cost:,}: {share:.0%} more than sending everything ({full:,}); it did not pay in this run",
        "{cost:,}：比发送全部内容（{full:,}）多 {share:.0%}；此次运行不划算",
    ),
    "wrap cost means": (
        "Costs are in uncached input tokens, with the answers. Both are forecasts by the same rule: the provider "
        "caches what the call before had sent. Sending everything needs no call to bring something back, and never "
        "sends more than the context window holds.",
        "费用折算为未缓存的输入 token，含回答。两者按同一规则估算：服务商缓存上一次调用发送的内容。发送全部内容不需要"
        "取回内容的调用，也不会超过上下文窗口。",
    ),
    "serve own upstream": (
        "the upstream {address} is this server itself: unset ANTHROPIC_BASE_URL and OPENAI_BASE_URL here, or name the "
        "provider with --upstream",
        "上游 {address} 就是本服务自己：请在此处取消 ANTHROPIC_BASE_URL 和 OPENAI_BASE_URL，或用 --upstream 指定服务商",
    ),
    "wrap sweeps": ("times that older parts were shortened", "缩短较早内容的次数"),
    "wrap read again": ("results read again after they were shortened", "缩短后又重新读取的结果"),
    "wrap recalled": ("calls to bring something back", "取回内容的调用"),
    "wrap lost": ("requests that could not be logged", "未能记录的请求"),
    "wrap next": (
        "`sightline inspect` shows in a browser what the model saw, `sightline sessions` lists the conversations.",
        "`sightline inspect` 在浏览器中显示模型看到的内容，`sightline sessions` 列出对话。",
    ),
    "trust nothing": (
        "nothing is allowed for {folder}; `sightline trust` lists the folders there are",
        "没有对 {folder} 的允许；`sightline trust` 列出已有的文件夹",
    ),
    # verify
    "verifying": ("verifying {id}", "校验 {id}"),
    "verified": (
        "Payloads composed again from the log: {payloads:,}, sessions: {sessions:,}. Each is exactly what was sent.",
        "由日志重新生成 {sessions:,} 个会话的 {payloads:,} 个请求：全部一致。",
    ),
    "nothing sent": (
        "Nothing was composed in these sessions ({sessions:,}), so there is nothing to compose again. Their logs are "
        "as they were written.",
        "无需重新生成：这些会话（{sessions:,} 个）没有组装过上下文。日志与写入时一致。",
    ),
    "verified bad": (
        "{bad:,} of {payloads:,} payloads are not what was sent.",
        "{payloads:,} 个请求中有 {bad:,} 个与发送的不一致。",
    ),
    "mismatch": (
        "{session} branch {branch} payload {number}: sent {expected}, now {found}",
        "{session} 分支 {branch} 请求 {number}：发送时 {expected}，现在 {found}",
    ),
    "window gone": (
        "{session} branch {branch} payload {number}: the text of a window that it showed is lost",
        "{session} 分支 {branch} 请求 {number}：其中显示过的窗口内容已丢失",
    ),
    "unreadable": ("{session} cannot be verified: {why}", "{session} 无法校验：{why}"),
    "project strategy": ("Strategy {strategy}, as {file} says.", "策略 {strategy}，由 {file} 指定。"),
    "damaged lines": (
        "{session}: lines of the log that cannot be read: {lines}",
        "{session}：日志中无法读取的行：{lines}",
    ),
    "changed lines": (
        "{session}: lines of the log that have changed since they were written: {lines}",
        "{session}：日志中写入之后被改动的行：{lines}",
    ),
    "missing": (
        "{session}: entries are missing from the log, between {lines}",
        "{session}：日志中缺少条目，位于 {lines} 之间",
    ),
    "more places": (" and {count:,} more", " 以及另外 {count:,} 处"),
    "not verified": (
        "{unread:,} of {sessions:,} sessions could not be verified.",
        "{sessions:,} 个会话中有 {unread:,} 个无法校验。",
    ),
}


class Phrases:
    """Looks up phrases in one language."""

    def __init__(self, language: str, more: Mapping[str, tuple[str, str]] | None = None) -> None:
        """`more`: phrases of one command, which replace those of the same key here."""
        self.language, self._table = language, phrases.Phrases({**_PHRASES, **(more or {})})

    def __call__(self, key: str, /, **values: Any) -> str:
        """Return the phrase of this key, with these values filled in."""
        return self._table(key, self.language, **values)

    def reason(self, reason: str) -> str:
        """Return why a receipt or plan says the prompt changed; a reason that is not in the table as it is."""
        return self._table.template(reason, self.language) if reason in self._table else reason
