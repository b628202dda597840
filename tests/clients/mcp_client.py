"""MCP's client for Python drives a device by both revisions, and waits for a person's approval."""

import asyncio
import os
import re
import subprocess

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

URL, TOKEN = os.environ["ORION_URL"] + "/mcp", os.environ["PROGRAM_TOKEN"]
asked = []


async def approve(_context, params):
    """A person reads the question, and approves on the command line; the answer itself approves nothing."""
    asked.append(params.message)
    approval = re.search(r"orion approvals show ([0-9a-f-]+)", params.message)[1]
    command = [os.environ["ORION"], "approvals", "approve", approval, "--yes"]
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    return ElicitResult(action="accept", content={})


async def drive(mode, folder, file):
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(URL, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=approve) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["read_file"].annotations.read_only_hint, tools["read_file"]
            assert tools["delete_file"].annotations.destructive_hint, tools["delete_file"]
            made = await client.call_tool("create_directory", {"path": folder})
            assert not made.is_error and made.structured_content["success"], made
            missing = await client.call_tool("read_file", {"path": "missing.txt"})
            assert missing.is_error and missing.structured_content["error"]["code"], missing
            devices = await client.read_resource("orion://devices")
            assert "kiosk" in devices.contents[0].text, devices
            waits = await client.call_tool("delete_file", {"path": file, "confirm": True})
            return client.protocol_version, waits


async def main():
    version, deleted = await drive("auto", "PythonMcp1", "old.txt")
    assert version == "2026-07-28", version
    assert not deleted.is_error and deleted.structured_content["success"], deleted
    assert len(asked) == 1, asked
    version, waits = await drive("legacy", "PythonMcp2", "older.txt")
    assert version == "2025-11-25", version
    assert waits.is_error and "orion approvals show" in waits.content[0].text, waits


asyncio.run(main())
print("ok")
