import { request } from 'node:http';
import { within } from '../../support/deadline.ts';

/**
 * Sends a tunnel a request as a visitor does. Names below `localhost` are loopback whatever the resolver says (RFC 6761).
 *
 * @param options what to send, and the ms to wait for the whole response
 * @returns status and body
 */
export async function visit(
  address: string,
  { method = 'GET', body = '', type = 'text/plain', ms = 10_000 } = {},
): Promise<{ status: number; body: string }> {
  const url = new URL(address);
  return await within(
    ms,
    `answer of ${address}`,
    new Promise((resolve, reject) => {
      const asked = request(
        {
          host: '127.0.0.1',
          port: url.port,
          path: url.pathname + url.search,
          method,
          agent: false,
          headers: { host: url.host, ...(body === '' ? {} : { 'content-type': type }) },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
          );
        },
      );
      asked.on('error', reject);
      asked.end(body);
    }),
  );
}
