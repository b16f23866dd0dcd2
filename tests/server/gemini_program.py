"""A program with Google's SDK, run by `test_gemini_sdk.py` in an environment that has it: a chat with a tool.

Its arguments: the address, "stream" or "whole", how many questions. It prints the answers as a list of JSON.
"""

import json
import sys

from google import genai
from google.genai import types

address, how, turns = sys.argv[1:]
client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=address))
SCHEMA = {"type": "OBJECT", "properties": {"number": {"type": "INTEGER"}}, "required": ["number"]}
READ = types.FunctionDeclaration(name="read_page", description="Reads one page of the manual.", parameters=SCHEMA)
CONFIG = types.GenerateContentConfig(
    system_instruction="You read the pages of a manual, one by one.",
    tools=[types.Tool(function_declarations=[READ])],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)


def page(number: int) -> str:
    """No two are the same."""
    line = f"Page {number}: the valve of pump {number * 7919 % 1000} opens at {number * 31} degrees.\n"
    return line * 40


def send(chat, message):
    """The parts of the answer."""
    if how == "whole":
        return chat.send_message(message).candidates[0].content.parts
    return [part for chunk in chat.send_message_stream(message) for part in chunk.candidates[0].content.parts or ()]


chat = client.chats.create(model="gemini-3-pro", config=CONFIG)
said = []
for turn in range(int(turns)):
    parts = send(chat, f"Question {turn}: what do the next pages say?")
    while calls := [part.function_call for part in parts if part.function_call]:
        results = []
        for call in calls:
            response = types.FunctionResponse(
                id=call.id, name=call.name, response={"output": page(call.args["number"])}
            )
            results.append(types.Part(function_response=response))
        parts = send(chat, results)
    said.append("".join(part.text for part in parts if part.text and not part.thought))
print(json.dumps(said))
