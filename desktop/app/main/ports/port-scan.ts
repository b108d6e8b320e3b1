/** Which ports of this machine somebody listens on, and who. */
import type { PortView } from '../../ipc/snapshot.ts';
import { PORTS_MAX } from '../limits.ts';

export interface PortScan {
  /** every port that something was seen listening on */
  readonly listening: ReadonlySet<number>;
  /** whether a port that is not among them is free: not if the system hides other users' programs */
  readonly isComplete: boolean;
  /** ports to offer, likeliest first */
  readonly ports: readonly PortView[];
}

/** A listening port and what is known of its program. */
export interface Listener {
  readonly port: number;
  readonly pid: number | undefined;
  /** name of the program */
  readonly process: string | undefined;
  /** how it was started */
  readonly command: string;
  /** text of the package.json of the directory it runs in */
  readonly manifest: string | undefined;
}

/** Lower ports are services of the system, which nobody exposes by accident. */
const FIRST_USUAL_PORT = 1024;

/**
 * @param own process ids of Culvert itself
 */
export function portScan(
  listeners: readonly Listener[],
  isComplete: boolean,
  own: ReadonlySet<number>,
  guess: (listener: Listener) => string | undefined,
): PortScan {
  const offered = new Map<number, PortView>();
  for (const listener of listeners) {
    const { port, pid, process } = listener;
    if (port < FIRST_USUAL_PORT && process === undefined) continue;
    if (pid !== undefined && own.has(pid)) continue;
    const known = offered.get(port);
    if (known?.process !== undefined) continue;
    offered.set(port, { port, process, framework: guess(listener) });
  }
  const ports = [...offered.values()].sort((a, b) => likelihood(b) - likelihood(a) || a.port - b.port);
  return {
    listening: new Set(listeners.map(({ port }) => port)),
    isComplete,
    ports: ports.slice(0, PORTS_MAX),
  };
}

function likelihood({ framework, process, port }: PortView): number {
  return (
    (framework === undefined ? 0 : 4) + (process === undefined ? 0 : 2) + (port < FIRST_USUAL_PORT ? 0 : 1)
  );
}
