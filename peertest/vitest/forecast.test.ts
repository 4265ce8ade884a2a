import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";

test("forecast", async () => {
  const client = new Client({ name: "my-client", version: "2.0.0" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { day: "Sunday" } }));
  await client.connect(new StdioClientTransport({ command: "mcptap", args: ["mock", "testdata/session.txtar"] }));
  const result = await client.callTool({ name: "forecast", arguments: { city: "Oslo" } });
  expect(result.content).toEqual([{ type: "text", text: "Sunday in Oslo: 15.5 degrees, partly cloudy" }]);
  await client.close();
});
