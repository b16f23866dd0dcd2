"""A report of how the thing under work behaves lays nothing down; what a team cannot do and what a user wants does."""

import pytest

from sightline.shorten.rules import constraints


@pytest.mark.parametrize(
    ("binds", "reports"),
    [
        ("The header stays blue.", "The header stays blank."),
        ("The header stays on the left.", "The header stays on the left when I click it."),
        ("The page stays blue.", "The page stays blank after login."),
        ("Only the first test, please.", "Only the first test passes."),
        ("Only verified users can post.", "Only two users can post."),
        ("Only my last commit, please.", "Only my last commit builds."),
        ("Only three of the ten nodes, please.", "Only three of the ten nodes reply."),
        ("Only my team has access.", "Only my team has this problem."),
        ("It must be a single file.", "It must be the old file."),
        ("This must be the last file.", "This must be the old file."),
        ("It must be the same file.", "It must be Friday's file."),
        ("Every request gets a 30-second timeout.", "Every request gets a 403."),
        ("All links are relative.", "All links are dead."),
        ("The names are sorted by date.", "The names are sorted wrongly."),
        ("No emails to customers.", "No emails go out."),
        ("No logs for customers.", "No logs since Tuesday."),
        ("No packets to the host.", "No packets reach the host."),
        ("这个函数只能返回两行。", "这个函数只返回两行。"),
        ("每个请求都要返回编号。", "每个请求都返回403。"),
        ("Two columns, not three.", "Two tests fail, not three."),
        ("Five slides, not six.", "Five errors, not six."),
        ("All pages need a title.", "All pages need ten seconds to load."),
        ("The repo lives in GitLab.", "Peter lives in Oslo."),
        ("My boss is called Anna Weber.", "My boss is in Berlin."),
        ("I don't drive.", "She doesn't drive."),
        ("We don't use jQuery.", "We don't use jQuery much."),
        ("每次打开页面都要截图", "每次打开页面都很慢"),
        ("每个按钮都要有说明。", "每个按钮都没反应。"),
        ("每次提交都要跑测试。", "每次提交都失败。"),
    ],
)
def test_a_report_is_no_constraint(binds: str, reports: str) -> None:
    """Told of the thing under work, in the present, without an obligation: how it is or what it does."""
    assert constraints(binds) == [binds]
    assert constraints(reports) == []


@pytest.mark.parametrize(
    ("bound", "unable"),
    [
        ("We can't upgrade Django.", "We can't open Django."),
        ("We can't use the search.", "We can't use the search at the moment."),
        ("We cannot log card numbers.", "We cannot log in."),
        ("We have to keep Python 3.8 support.", "We have to keep smiling."),
        ("我们不能升级Django。", "我们不能登录Django。"),
        ("我们不能用第三方库。", "我们不能用。"),
        ("我们公司不允许上传数据。", "他们公司不允许上传数据。"),
    ],
)
def test_what_a_team_cannot_do_binds_and_what_it_is_unable_to_do_does_not(bound: str, unable: str) -> None:
    assert constraints(bound) == [bound]
    assert constraints(unable) == []


@pytest.mark.parametrize(
    ("wanted", "other"),
    [
        ("I want British spelling.", "I want British tea."),
        ("I want short functions.", "I want new functions."),
        ("I want three paragraphs.", "I want three coffees."),
        ("I need it by Friday.", "I need it by my side."),
        ("I need the slides before the meeting.", "I need a coffee before the meeting."),
        ("I'd like the code in Rust.", "I'd like the code in there."),
        ("Keep the old names.", "Keep the faith, names."),
        ("我要英式拼写。", "我要英式红茶。"),
        ("周五之前要。", "周五之前要去医院。"),
        ("月底之前给我。", "月底之前陪我。"),
    ],
)
def test_what_the_user_wants_of_the_work_binds(wanted: str, other: str) -> None:
    """A quality of it, how much of it, or when it is due; not what people want in life."""
    assert constraints(wanted) == [wanted]
    assert constraints(other) == []
