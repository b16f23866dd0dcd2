"""What the histories of `constraint_histories` are made of, in English and Chinese. All invented.

A constraint is a sentence and, after "//", what must be read of it in one line: its numbers, its names, and "NOT" where
it forbids something. Other talk lays nothing down.
"""

from benchmarks.phrases import list_of

LAID_EN = """
Never write to {path}. // NOT; {path}
The budget cap is ${n}. // budget|cap; {n}
My time zone is UTC+{digit}. // UTC+{digit}
Dates go as {date}. // {date}
Keep every file under {n} lines. // {n}; line
Do not email {name} before noon. // NOT; {name}; noon
Answer in {language} from now on. // {language}
Use tabs in {area}, not spaces. // {area}; tab; NOT; space
The release is on {day} at {hour}:30. // release; {day}; {hour}:30
At most {n} requests per minute to {company}. // {n}; minute; {company}
Our contact at {company} is {name}. // {company}; {name}
No new dependencies in {area}. // NOT; dependenc; {area}
Round amounts to {digit} decimals. // {digit}; decimal
The staging host is {host}. // staging; {host}
Ask {name} before you delete anything in {area}. // {name}; delet; {area}
Don't use recursion in {area}. // NOT; recursi; {area}
Invoice numbers begin with {code}. // nvoice; {code}
All tests of {area} go under {folder}. // test; {area}; {folder}
I prefer tables over prose for {area}. // table; prose; {area}
Timeouts must stay below {n} ms. // imeout; {n}
Never mention {company} in a report. // NOT; {company}; report
The order to watch is {code}. // order; {code}
Only {name} may approve refunds above {n}. // {name}; refund; {n}
Write {company} in full, never shortened. // {company}; NOT; short
""".strip().splitlines()

LAID_ZH = """
千万不要改动 {path}。 // NOT; {path}
预算上限是 {n} 元。 // 预算|上限; {n}
我的时区是 UTC+{digit}。 // UTC+{digit}
日期一律写成 {date}。 // {date}
每个文件不超过 {n} 行。 // {n}; 行
中午之前不要给{name}发邮件。 // 中午|午; NOT; {name}
以后都用{language}回答。 // {language}
{area}里用制表符，不要用空格。 // {area}; 制表符; NOT; 空格
发布时间是{day} {hour}:30。 // 发布; {day}; {hour}:30
每分钟最多向{company}发 {n} 个请求。 // 分钟; {n}; {company}
{company}的联系人是{name}。 // {company}; {name}
{area}不能加新的依赖。 // {area}; NOT; 依赖
金额保留 {digit} 位小数。 // {digit}; 小数
测试服务器是 {host}。 // 测试; {host}
删除{area}的任何东西之前先问{name}。 // 删; {area}; {name}
{area}里别用递归。 // {area}; NOT; 递归
发票号以 {code} 开头。 // 发票; {code}
{area}的测试都放在 {folder} 下。 // {area}; 测试; {folder}
{area}的对比用表格，不用文字。 // {area}; 表格; NOT; 文字
超时必须低于 {n} 毫秒。 // 超时; {n}
报告里不要提到{company}。 // 报告; NOT; {company}
要盯住的订单是 {code}。 // 订单; {code}
{n} 元以上的退款只有{name}能批准。 // {n}; 退款; {name}
{company}要写全称，别缩写。 // {company}; NOT; 缩写
""".strip().splitlines()

OPENERS_EN = list_of("|||One more thing: |By the way: |Please note: |For all that follows: ", "|")
OPENERS_ZH = list_of("|||还有一点：|顺便说一下：|请注意：|另外，", "|")
REASONS_EN = list_of("|||, because the auditors asked for it|, as we agreed with the team|, the same as last year", "|")
REASONS_ZH = list_of("|||，因为审计要求这样|，这是跟团队说好的|，跟去年一样", "|")

VALUES_EN = {
    "language": list_of("German French Spanish Italian Danish"),
    "day": list_of("Monday Tuesday Wednesday Thursday Friday"),
    "name": list_of("Okafor Lindqvist Moreau Tanaka Hadley Petrov Alvarez Brandt"),
    "company": list_of("Northwind Brightwater Calder Ashgrove Pinehurst Redfern"),
    "area": list_of("billing checkout ledger search shipping pricing reports identity"),
    "date": list_of("YYYY-MM-DD DD.MM.YYYY YYYY/MM/DD"),
}
VALUES_ZH = {
    "language": list_of("英文 德文 法文 日文"),
    "day": list_of("周一 周二 周三 周四 周五"),
    "name": list_of("陈立群 王若兰 赵子墨 林晓峰 周雨桐 孙启航"),
    "company": list_of("云岭科技 海川物流 启明数据 松风软件 东麓电商"),
    "area": list_of("账单 结算 台账 搜索 物流 定价 报表 登录"),
    "date": list_of("2026-01-31 2026/01/31 31.01.2026"),
}

ASIDES_EN = """
Thanks, that helps.
How far are we with the {area} part?
What did the log of {code} say?
Interesting, I had not expected that.
Did anything change since {day}?
Which file was that in again?
I am back from lunch.
That looks good to me.
Hm, why is it so slow there?
Could the cache be the reason?
""".strip().splitlines()
ASIDES_ZH = """
谢谢，明白了。
{area}那部分进展如何？
{code} 的日志里写了什么？
有意思，我没想到会这样。
从{day}到现在有什么变化吗？
刚才说的是哪个文件来着？
我吃完饭回来了。
看起来不错。
嗯，那里为什么这么慢？
会不会是缓存的原因？
""".strip().splitlines()

REPLIES_EN = """
I looked at {area} first. The job for {code} ran through in {n} ms, and its output is the same as on {day}; the \
two warnings in the log come from a retry that succeeded. The next thing to look at is how the rows are grouped, \
because the totals there are built twice.
The change is in place and the tests pass, {n} of them. What took the time was a loop over all rows for every \
single row, in {path}; it now reads each row once. I also compared the output for {code} before and after, and \
it is equal to the byte.
There are two ways to go on. One is to split the table by month, which makes every query a little faster and the \
nightly job a little slower; the other leaves the table as it is and adds an index. I lean towards the second, \
since {area} is read far more often than it is written.
Nothing unusual since {day}: {n} rows came in, {digit} were retried, all of them went through. The slow spot is \
still the export in {path}, which waits for the network most of the time, and that is not something a change of \
code would help with.
""".strip().splitlines()
REPLIES_ZH = """
我先看了{area}。{code} 这个任务用 {n} 毫秒跑完，输出和{day}的一样；日志里的两条警告来自一次重试，后来成功了。接\
下来可以看分组那一段，因为合计在那里算了两遍。
改动已经完成，{n} 个测试全部通过。耗时的原因是 {path} 里每处理一行都要把所有行再扫一遍，现在每行只读一次。我还对\
比了 {code} 改动前后的输出，逐字节一致。
接下来有两条路。一条是按月拆表，查询会快一点，夜间任务会慢一点；另一条是表不动，加一个索引。我倾向于第二条，因为\
{area}读得远比写得多。
从{day}到现在没有异常：进来 {n} 行，重试了 {digit} 行，全部成功。慢的地方还是 {path} 里的导出，它大部分时间在等\
网络，这不是改代码能解决的。
""".strip().splitlines()

SYSTEM = {"en": "You are a careful assistant.", "zh": "你是一个细心的助手。"}
GO_ON = {"en": "Good. Please go on with the next step.", "zh": "好的，请继续下一步。"}
