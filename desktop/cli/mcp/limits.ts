/** Every limit of `culvert mcp`, with its reason. Times are in ms. */

/** Longest message that `culvert mcp` reads: an edited body of 64 KiB, even if each of its characters is escaped. */
export const MCP_MESSAGE_MAX_BYTES = 1024 * 1024;
/** Maximum number of tool calls that `culvert mcp` runs at a time. More are refused. */
export const MCP_CALLS_MAX = 32;
/** Maximum number of `wait_for_request` calls at a time, so that waiting leaves room for other calls. */
export const MCP_WAITS_MAX = 16;
/** Maximum number of tunnels that `culvert mcp` serves at a time. */
export const MCP_TUNNELS_MAX = 8;
/** How much output may wait for a client that does not read, before `culvert mcp` stops reading its messages. */
export const MCP_OUTPUT_MAX_BYTES = 1024 * 1024;
/** Maximum size of a body in a result of `culvert mcp`: longer ones would fill the context of a language model. */
export const MCP_BODY_MAX_BYTES = 16 * 1024;
/** Maximum number of requests in one result of `list_requests`. */
export const MCP_LISTED_MAX = 50;
/** How long `wait_for_request` waits by default: less than the minute after which many MCP clients give up. */
export const MCP_WAIT_DEFAULT_SECONDS = 45;
/** Longest time that `wait_for_request` waits. */
export const MCP_WAIT_MAX_SECONDS = 600;
/** How often a client that asks for progress hears that a call is still running: clients give up after a minute of silence. */
export const MCP_PROGRESS_MS = 15_000;
/** How long a new tunnel of `culvert mcp` may take to come online before it is closed again. */
export const MCP_OPEN_TIMEOUT_MS = 45_000;
/** How long `culvert mcp --ask` waits for a person. Without an answer, the action is refused. */
export const MCP_ASK_TIMEOUT_MS = 5 * 60_000;
/** Maximum number of questions of `culvert mcp --ask` that wait for a person. More are refused. */
export const MCP_QUESTIONS_MAX = 8;
