import { systemClock } from '../../engine/clock.ts';
import { Deadlines } from '../../engine/deadlines.ts';
import { LocalDialer } from '../../engine/local/local-dialer.ts';
import { localPort } from '../../engine/local/local-target.ts';
import { type Hop, HopFailure, HopSkipped } from './hop.ts';

/** The port that a tunnel would lead to. Only a connection is made: a request could do something. */
export function localHop(port: number | undefined): Hop {
  return {
    name: 'local',
    standsAlone: true,
    async check() {
      if (port === undefined) throw new HopSkipped('say which: culvert doctor PORT');
      if (await takesConnections(port)) return `port ${port} takes connections`;
      throw new HopFailure(
        `nothing answers on port ${port} of 127.0.0.1 and ::1`,
        'Start the service there, or give the port that it prints when it starts.',
      );
    },
  };
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    new LocalDialer(localPort(port), new Deadlines(systemClock)).connect({
      connected(local) {
        local.destroy();
        resolve(true);
      },
      refused: () => resolve(false),
    });
  });
}
