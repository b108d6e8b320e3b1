/** `GET /metrics` on its own listener, for operators only (docs/operating/monitoring.md). */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { uriHost } from '../../shared/networks.ts';
import { ConnectionCap } from '../connection-cap.ts';
import type { Listeners } from '../listeners.ts';
import { errorFields, type Log } from '../log.ts';
import type { Gauges } from './counters.ts';

/** Maximum number of concurrent connections to `/metrics`: one for each Prometheus, and some for people. */
export const METRICS_CONNECTIONS_MAX = 16;
/** How long a request for `/metrics` may take to arrive. */
const METRICS_REQUEST_TIMEOUT_MS = 5000;

interface MetricsAddress {
  readonly host: string;
  /** 0 for a free one */
  readonly port: number;
}

/** Where the text of the metrics comes from. */
type MeasuredText = Pick<Registry, 'contentType' | 'metrics'>;

export class MetricsServer {
  readonly #registry: MeasuredText;
  readonly #log: Log;
  readonly #server: Server;

  /**
   * Binds the listener and logs its address.
   *
   * @throws the system's error if the address is in use or not one of this machine
   */
  static async start(
    address: MetricsAddress,
    registry: MeasuredText,
    log: Log,
    listeners: Listeners,
  ): Promise<MetricsServer> {
    const server = new MetricsServer(registry, log);
    log('metrics listening', { url: await server.#listen(address, listeners) });
    return server;
  }

  private constructor(registry: MeasuredText, log: Log) {
    this.#registry = registry;
    this.#log = log;
    this.#server = createServer(
      {
        requestTimeout: METRICS_REQUEST_TIMEOUT_MS,
        headersTimeout: METRICS_REQUEST_TIMEOUT_MS,
        // Node checks the timeouts every 30 s otherwise.
        connectionsCheckingInterval: 1000,
      },
      (request, response) => void this.#answer(request, response),
    );
    const limits = { all: METRICS_CONNECTIONS_MAX, source: METRICS_CONNECTIONS_MAX };
    new ConnectionCap(limits, (address) => address).guard(this.#server);
  }

  async #listen({ host, port }: MetricsAddress, listeners: Listeners): Promise<string> {
    await listeners.open('metrics', this.#server, { host, port });
    this.#server.on('error', (error) =>
      this.#log('internal error', { at: 'metrics', ...errorFields(error) }),
    );
    const bound = (this.#server.address() as AddressInfo).port;
    return `http://${uriHost(host)}:${bound}/metrics`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url !== '/metrics') return refuse(response, 404, 'not found; metrics are at /metrics');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return refuse(response, 405, 'method not allowed');
    }
    try {
      const text = await this.#registry.metrics();
      response.setHeader('Content-Type', this.#registry.contentType);
      response.end(request.method === 'HEAD' ? undefined : text);
    } catch (error) {
      this.#log('internal error', { at: 'metrics', ...errorFields(error) });
      refuse(response, 500, 'internal error');
    }
  }
}

/** The metrics library takes about 20 MB, so it is loaded only if metrics are enabled. */
export async function startMetrics(
  address: MetricsAddress,
  gauges: Gauges,
  log: Log,
  listeners: Listeners,
): Promise<MetricsServer> {
  const { createMetrics } = await import('./metrics.ts');
  return await MetricsServer.start(address, createMetrics(gauges), log, listeners);
}

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}
