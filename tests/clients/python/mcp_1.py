"""The Python SDK of the handshake era. Usage: python mcp_1.py COMMAND [ARGUMENT...]"""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from session import plain, run


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()

        async def list_tools():
            return (await session.list_tools()).tools

        report = await run(list_tools, session.call_tool)
    report["protocol"] = hello.protocolVersion
    report["server"] = plain(hello.serverInfo)
    report["instructions"] = hello.instructions
    print(json.dumps(report))


asyncio.run(main())
