/** Services that record which marked requests they have seen: three real servers, and one that only looks at bytes. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { startApacheSite, startNginxSite } from '../../../support/native-server.ts';
import type { Scope } from '../../../support/scope.ts';
import { startHttpService, startRawService } from '../../../support/services/listen.ts';
import { MARK } from './case.ts';

/** A mark that has reached a service. */
export interface Sighting {
  readonly server: string;
  readonly kind: string;
  readonly number: number;
  /**
   * Where the request came from, as each proxy and the relay have added it; `undefined` where only bytes were looked at. A
   * request that one of them did not take for a request has fewer addresses.
   */
  readonly from: string | undefined;
}

export interface Witness {
  readonly name: string;
  readonly port: number;
  /** all that it has seen */
  sightings(): readonly Sighting[];
}

/** Fields of a marked request, as nginx and Apache log them. */
const LOG_LINE = {
  nginx: '$http_case|$http_x_forwarded_for',
  apache: '%{Case}i|%{X-Forwarded-For}i',
};

export async function startWitnesses(scope: Scope): Promise<readonly Witness[]> {
  const [nginx, apache] = [await startNginxSite(scope, LOG_LINE), await startApacheSite(scope, LOG_LINE)];
  return [
    await startNode(scope),
    await startLooker(scope),
    { name: 'nginx', port: nginx.port, sightings: () => fromLog('nginx', nginx.log) },
    { name: 'apache', port: apache.port, sightings: () => fromLog('apache', apache.log) },
  ];
}

/** Node's server; it responds with what it has seen. */
async function startNode(scope: Scope): Promise<Witness> {
  const name = 'node';
  const seen: Sighting[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const from = request.headersDistinct['x-forwarded-for']?.join();
    const mark = String(request.headers['case']);
    seen.push(...marksIn(mark, name, from));
    const body = await text(request);
    // What a body hides is a request only to those who read it as one.
    const behind = `${body} ${request.rawTrailers.join(' ')}`;
    seen.push(...marksIn(behind, name, from).filter(({ kind }) => kind === 'a'));
    response.end(`seen: ${mark}\n`);
  }
  const { port } = await startHttpService(scope, (request, response) => {
    answer(request, response).catch(() => request.destroy());
  });
  return { name, port, sightings: () => seen };
}

/** Looks for marks in bytes, whatever they are, so it cannot tell a hidden request from a body. */
async function startLooker(scope: Scope): Promise<Witness> {
  const name = 'bytes';
  const connections: { bytes: string }[] = [];
  const { port } = await startRawService(scope, (socket) => {
    const connection = { bytes: '' };
    connections.push(connection);
    socket.on('data', (piece: Buffer) => {
      connection.bytes += piece.toString('latin1');
      if (piece.includes('\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
    socket.on('end', () => socket.end());
  });
  return {
    name,
    port,
    sightings: () => connections.flatMap(({ bytes }) => marksIn(bytes, name, undefined)),
  };
}

function fromLog(name: string, log: string): Sighting[] {
  const lines = readFileSync(log, 'latin1').split('\n');
  return lines.flatMap((line) => {
    const [mark = '', from = ''] = line.split('|');
    return marksIn(mark, name, from);
  });
}

function marksIn(bytes: string, server: string, from: string | undefined): Sighting[] {
  return [...bytes.matchAll(MARK)].map(([, kind = '', number]) => ({
    server,
    kind,
    number: Number(number),
    from,
  }));
}
