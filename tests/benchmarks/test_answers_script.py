"""The script for a machine with a GPU, run here with stand-ins for torch and transformers, which are not installed."""

import ast
import importlib.util
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from benchmarks.answers import __main__ as command

SCRIPT = Path(command.__file__).with_name("generate.py")
Json = dict[str, Any]


class Tokens:
    """Rows of words, as a tokenizer and a model hand them on."""

    def __init__(self, rows: list[list[str]]) -> None:
        self.rows = rows
        self.shape = (len(rows), len(rows[0]))

    def __getitem__(self, at: tuple[slice, slice]) -> list[list[str]]:
        return [row[at[1]] for row in self.rows]


class Read(dict[str, Any]):
    """A batch of prompts."""

    def to(self, device: str) -> "Read":
        """It lies where it is."""
        assert device == "cpu"
        return self


class Tokenizer:
    """A word is a token."""

    pad_token, eos_token, eos_token_id, pad_token_id, padding_side = None, "</s>", 2, 2, "right"
    template = True

    def apply_chat_template(self, messages: list[Json], tokenize: bool, add_generation_prompt: bool) -> str:
        """The model's own chat form, where it has one."""
        if not self.template:
            raise ValueError("no template")
        return "own form: " + " ".join(each["content"] for each in messages)

    def get_vocab(self) -> dict[str, int]:
        """With the token that ends a turn."""
        return {"<|im_end|>": 7}

    def __call__(self, texts: list[str], **options: Any) -> Read:
        assert self.padding_side == "left"
        rows = [text.split() for text in texts]
        longest = max(map(len, rows))
        padded = [["<pad>"] * (longest - len(row)) + row for row in rows]
        return Read(input_ids=Tokens(padded), token_type_ids=None)

    def decode(self, row: list[str], skip_special_tokens: bool) -> str:
        """What was added to a prompt."""
        return " ".join(row) + " "


class Model:
    """It says the last word that it read."""

    device = "cpu"

    def __init__(self) -> None:
        self.batches: list[list[list[str]]] = []

    def to(self, device: str) -> "Model":
        """Onto the processor: there is no GPU here."""
        self.device = device
        return self

    def eval(self) -> "Model":
        """Ready."""
        return self

    def generate(self, input_ids: Tokens, eos_token_id: list[int], do_sample: bool, **options: Any) -> Tokens:
        """Greedy."""
        assert (eos_token_id, do_sample) == ([7, 2], False)
        self.batches.append(input_ids.rows)
        return Tokens([[*row, row[-1]] for row in input_ids.rows])


class Script(SimpleNamespace):
    """The script, with its stand-ins."""

    module: Any
    tokenizer: Tokenizer
    model: Model
    loaded: list[Any]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """The script, imported where torch and transformers are these."""
    tokenizer, model, loaded = Tokenizer(), Model(), list[Any]()
    torch: Any = ModuleType("torch")
    torch.bfloat16, torch.inference_mode = "bf16", nullcontext
    torch.cuda = SimpleNamespace(is_available=lambda: False)
    transformers: Any = ModuleType("transformers")

    def maker(made: Any) -> SimpleNamespace:
        return SimpleNamespace(from_pretrained=lambda place, **more: (loaded.append((place, more)), made)[1])

    transformers.AutoTokenizer, transformers.AutoModelForCausalLM = maker(tokenizer), maker(model)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    spec = importlib.util.spec_from_file_location("generate", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Script(module=module, tokenizer=tokenizer, model=model, loaded=loaded)


def prompt(number: int, tokens: int) -> Json:
    """A prompt of so many tokens, as the command writes it."""
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Is it {number}"}]
    about = {"id": str(number), "composer": "it", "budget": 2000, "form": "sent", "kind": "one", "question": "?"}
    return {**about, "answers": ["no"], "tokens": tokens, "messages": messages}


def test_it_stands_alone() -> None:
    """It imports Python's own modules, torch and transformers; nothing of ours."""
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in names if name not in sys.stdlib_module_names} == {"torch", "transformers"}


@pytest.mark.parametrize("template", [True, False])
def test_it_answers_in_the_models_form_and_goes_on_where_it_stopped(
    script: Script, template: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A GGUF file is named to transformers; what is answered is not asked again; our own command reads the result."""
    script.tokenizer.template = template
    model, prompts, answers = (tmp_path / name for name in ("model.gguf", "prompts.json.gz", "answers.json"))
    model.touch()
    command._write(prompts, [prompt(1, 50), prompt(2, 20)])
    script.module.main(str(model), str(prompts), str(answers))
    assert script.loaded[0] == (str(tmp_path), {"gguf_file": "model.gguf"})
    (batch,) = script.model.batches
    assert batch[0][:2] == (["own", "form:"] if template else ["<|im_start|>system", "Be"])
    found = json.loads(answers.read_text())
    assert [(each["id"], each["model"]) for each in found] == [("2", "model"), ("1", "model")]
    assert found[0]["said"] == ("2" if template else "<|im_start|>assistant")
    command._write(prompts, [prompt(1, 50), prompt(2, 20), prompt(3, 30)])
    script.module.main(str(model), str(prompts), str(answers))
    assert [len(each) for each in script.model.batches] == [2, 1]
    assert len(json.loads(answers.read_text())) == 3
    command.main(["--read", str(answers)])
    assert "Answers of model" in capsys.readouterr().out


def test_prompts_of_one_length_are_read_together(script: Script) -> None:
    """The shortest first, no more at once than the memory takes."""
    todo = [prompt(number, 100) for number in range(50)] + [prompt(99, 90_000), prompt(98, 70_000), prompt(97, 80_000)]
    sizes = [[each["tokens"] for each in batch] for batch in script.module.batches(todo)]
    assert [len(batch) for batch in sizes] == [48, 2, 2, 1]
    assert sizes[2] == [70_000, 80_000]
    assert all(len(batch) * max(batch) <= script.module.BATCH_TOKENS for batch in sizes)
