import { systemClock } from '../engine/clock.ts';
import { Deadlines } from '../engine/deadlines.ts';
import { LocalDialer } from '../engine/local/local-dialer.ts';
import { describeTarget, type LocalTarget } from '../engine/local/local-target.ts';
import { say, type Sayable } from '../engine/said/said.ts';
import { FolderUnreadable, locateFolder } from '../share/shared-folder.ts';
import { type Hop, HopFailure, HopSkipped } from './hop.ts';
import type { Subject } from './subject.ts';

/** The port or folder that a tunnel would lead to. To a port only a connection is made: a request could do something. */
export function localHop({ local, remedies }: Pick<Subject, 'local' | 'remedies'>): Hop {
  return {
    name: 'local',
    standsAlone: true,
    async check() {
      if (local === undefined) throw new HopSkipped(remedies.noLocal);
      if ('folder' in local) return looksInto(local.folder);
      if (await takesConnections(local)) return say('doctor.local', { service: describeTarget(local) });
      throw new HopFailure(
        local.host === 'localhost'
          ? say('doctor.nothingOnBoth', { port: local.port })
          : say('doctor.nothingOn', { service: describeTarget(local) }),
        remedies.local,
      );
    },
  };
}

async function looksInto(folder: string): Promise<Sayable> {
  try {
    return say('doctor.folder', { folder: await locateFolder(folder) });
  } catch (error) {
    if (!(error instanceof FolderUnreadable)) throw error;
    throw new HopFailure(error.said, say('doctor.folderFix'));
  }
}

function takesConnections(target: LocalTarget): Promise<boolean> {
  return new Promise((resolve) => {
    new LocalDialer(target, new Deadlines(systemClock)).connect({
      connected(local) {
        local.destroy();
        resolve(true);
      },
      refused: () => resolve(false),
    });
  });
}
