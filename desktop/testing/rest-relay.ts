import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RelayAddress } from '../client/relay/relay-address.ts';
import { startHttp } from './servers.ts';

/** Status, JSON body and fields of a response. */
export type RestResponse = readonly [status: number, body: unknown, fields?: Record<string, string>];

/** The REST interface of a relay, without WebSockets; `closeServers` ends it. */
export interface RestRelay {
  readonly address: RelayAddress;
  /** method, path and body of the requests it got */
  readonly calls: string[];
}

/** @param answer returns the response to `GET /v1/account` and the like */
export async function startRestRelay(answer: (call: string) => RestResponse): Promise<RestRelay> {
  const calls: string[] = [];
  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = `${request.method} ${request.url} ${await text(request)}`.trim();
    calls.push(call);
    const [status, body, fields] = answer(call);
    response.writeHead(status, fields);
    response.end(JSON.stringify(body));
  }
  return { address: await startHttp((request, response) => void reply(request, response)), calls };
}
