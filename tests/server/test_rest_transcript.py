"""The transcript of a session through a real server."""

from rest_server import RestServer

TALK = "/api/sessions/talk"


def test_the_transcript_has_every_message_in_pages(server: RestServer) -> None:
    """Each page leads to the next; a call has its result and the numbers of its row of the timeline."""
    messages, start = [], 0
    while start is not None:
        page = server.get(f"{TALK}/transcript?start={start}&limit=5")
        messages += page["messages"]
        start = page["next"]
    assert len(messages) == page["total"]
    rows = server.get(f"{TALK}/timeline?limit=1000")["calls"]
    assert [message["call"] for message in messages if message["call"]] == rows
    results = [call["result"]["id"] for message in messages for call in message["calls"]]
    kinds = {item["id"]: item["kind"] for item in server.get(f"{TALK}/items?limit=1000")["items"]}
    assert results == [item for item, kind in kinds.items() if kind == "result"]


def test_the_last_messages_are_read_without_knowing_how_many_there_are(server: RestServer) -> None:
    """A start below 0 counts from the end; where there are fewer messages, the first is read first."""
    total = server.get(f"{TALK}/transcript?limit=1")["total"]
    page = server.get(f"{TALK}/transcript?start=-3&limit=5")
    assert (page["start"], len(page["messages"]), page["next"]) == (total - 3, 3, None)
    assert server.get(f"{TALK}/transcript?start=-1000&limit=1")["start"] == 0
    assert server.client.get(f"{TALK}/transcript?start=-1001").status_code == 400


def test_an_item_leads_to_its_page(server: RestServer) -> None:
    """The place of its message is told; an item that there is not is a 404."""
    last = server.get(f"{TALK}/items?limit=1000")["items"][-1]
    page = server.get(f"{TALK}/transcript?at={last['id']}&limit=1")
    assert (page["at"], page["start"], len(page["messages"])) == (page["total"] - 1, page["total"] - 1, 1)
    assert server.client.get(f"{TALK}/transcript?at=4711").status_code == 404


def test_words_are_found_in_all_messages(server: RestServer) -> None:
    """Each hit is a message and its place."""
    answer = server.get(f"{TALK}/transcript/find?q=QUESTION 3")
    [hit] = answer["hits"]
    page = server.get(f"{TALK}/transcript?start={hit['place']}&limit=1")
    assert page["messages"][0]["id"] == hit["id"]
    assert "Question 3" in page["messages"][0]["parts"][0]["text"]
    assert answer["next"] is None
    assert server.client.get(f"{TALK}/transcript/find?q={'x' * 1001}").status_code == 400
