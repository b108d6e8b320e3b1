import type { About } from '../../../desktop/shared/ipc.ts';
import type { Snapshot, TunnelView } from '../../../desktop/shared/snapshot.ts';
import { exampleSnapshot } from '../../../desktop/testing/views.ts';
import { type ScriptedHandlers, ScriptedMain } from '../support/scripted-main.ts';
import { DOMAIN_PROBLEMS, DOMAINS, PENDING_DOMAIN } from './domains.ts';
import { ADMITTED, LINKS } from './locks.ts';
import { detail, EARLIER, EDIT_PROBLEMS, EDITED, logOf, REQUESTS, SENT } from './requests.ts';
import { HOUR, NOW } from './scene.ts';

export const PORTS = [
  { port: 4321, process: 'node', framework: 'Astro' },
  { port: 3001, process: 'node', framework: 'Next.js' },
  { port: 8000, process: 'python3', framework: undefined },
  { port: 5432, process: 'postgres', framework: undefined },
];

const ABOUT: About = {
  version: '0.1.0',
  versions: [
    { name: 'Electron', version: '45.4.1' },
    { name: 'Chromium', version: '156.0.8078.79' },
    { name: 'Node', version: '24.21.0' },
  ],
  licences: [
    { name: 'Culvert', licence: 'MIT' },
    { name: 'Electron', licence: 'MIT' },
    { name: 'Preact', licence: 'MIT' },
    { name: 'uqr', licence: 'MIT' },
  ],
};

/** Where the window shows a signed-in user with `changes`, and everything that is asked is answered, by `handlers` first. */
export function scripted(changes: Partial<Snapshot>, handlers: ScriptedHandlers = {}): () => ScriptedMain {
  return () =>
    new ScriptedMain(exampleSnapshot({ ports: PORTS, ...changes }), {
      'log:changes': logOf([...REQUESTS, ...EARLIER]),
      'log:detail': ({ id }) => detail(id),
      'log:replay': () => ({ id: 95 }),
      'bench:open': () => EDITED,
      'bench:send': ({ edit }) => (edit.method === 'POST' ? { sent: SENT } : { problems: EDIT_PROBLEMS }),
      'lock:invent': () => ({ password: 'brisk-plum-tide' }),
      'link:list': () => LINKS,
      'domain:list': () => DOMAINS,
      'domain:check': () => ({ ...PENDING_DOMAIN, problems: DOMAIN_PROBLEMS }),
      'knock:admitted': () => ADMITTED,
      'link:create': ({ note }) => ({ id: 'l4', note, expiresAt: NOW + 24 * HOUR }),
      'app:about': () => ABOUT,
      ...handlers,
    });
}

/** Where these tunnels are there. */
export function live(...tunnels: TunnelView[]): () => ScriptedMain {
  return scripted({ tunnels });
}
