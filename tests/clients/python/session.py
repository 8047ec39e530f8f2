"""What every Python client does once it is connected: list the tools, run the exchange of
lesson.json, and report what came back. The Rust test judges it; nothing is asserted here."""

import json
import pathlib

EXCHANGE = json.loads((pathlib.Path(__file__).parent.parent / "lesson.json").read_text())


def plain(model):
    """A pydantic model as it stands on the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def run(list_tools, call_tool):
    """Runs the exchange and gives tools and calls for the report."""
    tools = [plain(tool) for tool in await list_tools()]
    calls = []
    for name, arguments in EXCHANGE:
        result = plain(await call_tool(name, arguments))
        calls.append(
            {
                "name": name,
                "isError": result.get("isError", False),
                "structuredContent": result.get("structuredContent"),
                "text": "".join(block["text"] for block in result["content"]),
            }
        )
    return {"tools": tools, "calls": calls}
