/** The local service that a tunnel leads to: this one and no other. */
export interface LocalTarget {
  /** name or IP address; `localhost` is 127.0.0.1 or ::1, whichever accepts connections */
  readonly host: string;
  readonly port: number;
  /** whether it speaks TLS; a certificate that no authority signed is accepted from loopback addresses only */
  readonly https: boolean;
  /** ms to wait for a service that refuses connections, as it does while it restarts; 0: visitors get an error at once */
  readonly waitMs: number;
}

/** What `culvert http PORT` leads to unless told otherwise. */
export function localPort(port: number): LocalTarget {
  return { host: 'localhost', port, https: false, waitMs: 0 };
}

/** Names the service in a sentence for people: `port 3000`, or `nas:3000` on another host. */
export function describeTarget({ host, port }: LocalTarget): string {
  return host === 'localhost' ? `port ${port}` : `${host}:${port}`;
}
