"""The scripts in examples/documents: each runs its document from beginning to end and prints the document's samples."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SCRIPTS = ROOT / "examples" / "documents"

# Of each script, what it prints, in this order; other lines may stand between.
PRINTED = {
    "ba_agent.py": [
        "<!-- CODE_SAVED: code_sales_analysis | 销售数据分析 -->",
        "data/code_sales_analysis.py  python, 150行",
        "data/code_report_template.html  html, 1行",
        "  user      请创建分析代码\n  assistant {",
        "  system    你必须只返回一个 JSON 对象",
        "  system    可用代码文件列表：",
        "  system    用户已上传文件，文件引用: upload:upload_q1\n  user      请基于上传的数据继续\n",
        "可用代码文件列表：\n"
        "- code_sales_analysis (python) - 销售数据分析\n"
        "- code_visualization_chart (python) - 趋势图表\n"
        "- code_report_template (html) - 报告模板\n"
        "\n"
        "你可以通过 <code_ref>{code_id}</code_ref> 标签在最终报告中引用这些代码。\n",
        "True 完整内容: True",
        "[文件已读取] code_sales_analysis.py (python, 150行, 函数: load_data, clean_data, visualize)",
        "[文件已读取] sales_analysis.py (python, 150行, 函数: load_data, clean_data, visualize)",
        "[文件已读取] chart_result.json (JSON, 2.5KB, 键: config, data, options)",
        "[文件已读取] config.json (JSON, 2.5KB, 键: settings, data, options)",
        "[文件已读取] data.csv (CSV, 5000行, 列: date, product, amount, region)",
        "完整内容: False",
        "完整内容: True",
        "对话 5 条",
    ],
}


@pytest.mark.parametrize("script", sorted(script.name for script in SCRIPTS.glob("*.py")))
def test_a_document_runs_from_beginning_to_end(script: str, tmp_path: Path) -> None:
    """The script ends well, warns of nothing, leaves nothing in the folder it runs in, and prints the samples."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8", "HOME": str(tmp_path)}
    (folder := tmp_path / "here").mkdir()
    ran = subprocess.run(
        [sys.executable, SCRIPTS / script], cwd=folder, env=environment, capture_output=True, timeout=300, check=False
    )
    assert (ran.returncode, ran.stderr.decode()) == (0, "")
    assert not list(folder.iterdir())
    printed, at = ran.stdout.decode(), 0
    assert printed.strip()
    for expected in PRINTED.get(script, ()):
        assert expected in printed[at:]
        at = printed.index(expected, at) + len(expected)
