/** A small HTTP proxy that knows CONNECT only (RFC 9110 section 9.3.6). */
import { connect, type Socket } from 'node:net';
import { atClose, startTcp, type startTls } from './servers.ts';

export interface TestProxy {
  readonly port: number;
  /** authorities that were asked for, and the credentials, in order */
  readonly asked: { readonly authority: string; readonly authorization: string | undefined }[];
}

/**
 * @param answer its response to a request instead of connecting; `undefined` to connect, `''` to hang
 * @param start makes it listen with TLS instead
 */
export async function startProxy(
  answer: (authorization: string | undefined) => string | undefined = () => undefined,
  start: typeof startTls = startTcp,
): Promise<TestProxy> {
  const asked: TestProxy['asked'] = [];
  const port = await start((client) => {
    let head = '';
    client.on('data', function read(chunk: Buffer) {
      head += chunk.toString('latin1');
      if (!head.endsWith('\r\n\r\n')) return;
      client.off('data', read);
      const [, authority = ''] = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head) ?? [];
      const authorization = /^Proxy-Authorization: (.*)$/m.exec(head)?.[1]?.trim();
      asked.push({ authority, authorization });
      const said = answer(authorization);
      client.once('end', () => client.destroy()).resume();
      if (said === undefined) join(client, authority);
      else if (said !== '') client.end(said);
    });
  });
  return { port, asked };
}

function join(client: Socket, authority: string): void {
  const [, host = '', port] = /^\[?(.*?)\]?:(\d+)$/.exec(authority) ?? [];
  // All names in the tests mean this machine.
  const target = connect(Number(port), host.endsWith('.test') ? '127.0.0.1' : host);
  atClose(() => target.destroy());
  target.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
  target.once('connect', () => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    client.pipe(target).pipe(client);
    client.once('close', () => target.destroy());
    target.once('close', () => client.destroy());
  });
}
