"""Answers of a model on a machine with a GPU, where nothing else of this project is: one file, no network.

    python generate.py MODEL prompts.json answers.json

MODEL is a GGUF file, or a folder with a model as transformers saves it. Needs torch and transformers, and for a GGUF
file the package gguf, which may be on the PYTHONPATH. prompts.json is what `python -m benchmarks.answers --write`
wrote, also as prompts.json.gz; `python -m benchmarks.answers --read answers.json` scores what comes back. Greedy. The
answers are written after each batch; a second run goes on where a stopped one ended.
"""

import gzip
import json
import sys
import time
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

OUTPUT = 32  # tokens of an answer
BATCH_TOKENS = 160_000  # of the prompts that are read at once, padding included
LARGEST = 48  # prompts at once


def loaded(place):
    """Return the tokenizer and the model."""
    path = Path(place)
    where, which = (path.parent, {"gguf_file": path.name}) if path.is_file() else (path, {})
    tokenizer = AutoTokenizer.from_pretrained(str(where), **which)
    tokenizer.padding_side = "left"  # an answer follows the end of its prompt
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(str(where), dtype=torch.bfloat16, **which)
    return tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu").eval()


def written(tokenizer, messages):
    """Return a prompt in the model's own chat form; ChatML if the file names none or refuses these roles."""
    try:
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception:  # a template is a program of the model's authors, and raises what it likes
        turns = [f"<|im_start|>{each['role']}\n{each['content']}<|im_end|>\n" for each in messages]
        return "".join([*turns, "<|im_start|>assistant\n"])


def ends(tokenizer):
    """Return the tokens that end an answer."""
    known = tokenizer.get_vocab()
    named = [known[name] for name in ("<|im_end|>", "<|eot_id|>", "<end_of_turn>") if name in known]
    return list(dict.fromkeys([*named, tokenizer.eos_token_id]))


def batches(todo):
    """Yield prompts of about the same length together."""
    batch = []
    for prompt in sorted(todo, key=lambda each: each["tokens"]):
        if batch and (len(batch) == LARGEST or (len(batch) + 1) * prompt["tokens"] > BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(prompt)
    if batch:
        yield batch


def answered(tokenizer, model, batch):
    """Return what the model says to each prompt of a batch."""
    texts = [written(tokenizer, prompt["messages"]) for prompt in batch]
    read = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(model.device)
    read.pop("token_type_ids", None)
    with torch.inference_mode():
        out = model.generate(
            **read,
            max_new_tokens=OUTPUT,
            do_sample=False,
            temperature=None,
            top_p=None,
            top_k=None,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=ends(tokenizer),
        )
    new = out[:, read["input_ids"].shape[1] :]
    return [tokenizer.decode(row, skip_special_tokens=True).strip() for row in new]


def key(row):
    """Return what names a prompt."""
    return row["id"], row["composer"], row["budget"], row["form"]


def main(place, prompts, to):
    """Answer what is not answered yet."""
    path = Path(to)
    answers = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    known = {key(row) for row in answers}
    raw = Path(prompts).read_bytes()
    every = json.loads(gzip.decompress(raw) if prompts.endswith(".gz") else raw)
    todo = [row for row in every if key(row) not in known]
    tokenizer, model = loaded(place)
    begun = time.monotonic()
    for batch in batches(todo):
        for prompt, said in zip(batch, answered(tokenizer, model, batch), strict=True):
            about = {name: value for name, value in prompt.items() if name != "messages"}
            answers.append({**about, "model": Path(place).stem, "said": said})
        path.write_text(json.dumps(answers, ensure_ascii=False), encoding="utf-8")
        print(len(answers), "of", len(known) + len(todo), f"after {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4])
