import { request } from 'node:http';
import { within } from '../../support/deadline.ts';

interface VisitOptions {
  readonly method?: string;
  readonly body?: string;
  /** of the body */
  readonly type?: string;
  readonly ms?: number;
  readonly cookie?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Sends a tunnel a request as a visitor does. Names below `localhost` are loopback whatever the resolver says (RFC 6761).
 *
 * @param options what to send, and the ms to wait for the whole response
 * @returns status and body, and the cookie that it sets, as it is sent back
 */
export async function visit(
  address: string,
  { method = 'GET', body = '', type = 'text/plain', ms = 10_000, cookie, headers = {} }: VisitOptions = {},
): Promise<{ status: number; body: string; cookie: string | undefined }> {
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
          headers: {
            host: url.host,
            ...(body === '' ? {} : { 'content-type': type }),
            ...(cookie === undefined ? {} : { cookie }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              body: Buffer.concat(chunks).toString(),
              cookie: response.headers['set-cookie']?.[0]?.split(';')[0],
            }),
          );
        },
      );
      asked.on('error', reject);
      asked.end(body);
    }),
  );
}
