"""FastMCP's client. Usage: python fastmcp_client.py COMMAND [ARGUMENT...]"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from session import plain, run


async def main():
    transport = StdioTransport(command=sys.argv[1], args=sys.argv[2:], keep_alive=False)
    async with Client(transport) as client:
        protocol, info = client.protocol_version, plain(client.server_info)
        instructions = client.instructions
        report = await run(client.list_tools, client.call_tool_mcp)
    report.update(protocol=protocol, server=info, instructions=instructions)
    print(json.dumps(report))


asyncio.run(main())
