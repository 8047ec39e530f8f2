"""The Python SDK of both eras. Usage: python mcp_2.py legacy|auto COMMAND [ARGUMENT...]"""

import asyncio
import json
import sys

from mcp import StdioServerParameters
from mcp.client import Client

from session import plain, run


async def main():
    server = StdioServerParameters(command=sys.argv[2], args=sys.argv[3:])
    async with Client(server, mode=sys.argv[1]) as client:
        protocol, info = client.protocol_version, plain(client.server_info)
        instructions = client.instructions

        async def list_tools():
            return (await client.list_tools()).tools

        report = await run(list_tools, client.call_tool)
    report.update(protocol=protocol, server=info, instructions=instructions)
    print(json.dumps(report))


asyncio.run(main())
