import type { ProjectTunnelView } from '../../../desktop/shared/project.ts';
import type { Scene } from './scene.ts';
import { scripted } from './scripted.ts';
import { SHOP } from './tunnels.ts';

const API_TUNNEL: ProjectTunnelView = {
  label: 'api',
  address: undefined,
  leadsTo: 'https://localhost:4000',
  lock: { kind: 'other', parts: ['users', 'links'], password: undefined },
  ttl: '4h',
  status: { name: 'ready' },
};
const DOCS_TUNNEL: ProjectTunnelView = {
  label: 'docs',
  address: 'docs.example.org',
  leadsTo: './public',
  lock: { kind: 'password', password: undefined },
  ttl: undefined,
  status: { name: 'ready' },
};
const PROJECT_TUNNELS: readonly ProjectTunnelView[] = [
  {
    label: 'web',
    address: 'shop-demo',
    leadsTo: 'http://localhost:5173',
    lock: { kind: 'anyone' },
    ttl: undefined,
    status: { name: 'online' },
  },
  API_TUNNEL,
  DOCS_TUNNEL,
  {
    label: 'nas',
    address: undefined,
    leadsTo: 'http://192.0.2.7:80',
    lock: { kind: 'anyone' },
    ttl: undefined,
    status: {
      name: 'blocked',
      why: 'Cannot be started here: it leads to another machine, 192.0.2.7, which visitors would reach through this one. If that is meant, run culvert start --allow-other-hosts.',
    },
  },
];

export const PROJECT_SCENES: readonly Scene[] = [
  {
    name: 'project',
    alt: 'The tunnels of a project: which address each asks for, where it leads, and who may come in',
    main: scripted({
      tunnels: [SHOP],
      project: { id: 'p', name: 'shop', state: 'open', tunnels: PROJECT_TUNNELS },
    }),
  },
  {
    name: 'project-failed',
    alt: 'A project of which one tunnel is started and another could not be, with why',
    main: scripted({
      tunnels: [SHOP],
      project: {
        id: 'p',
        name: 'shop',
        state: 'open',
        tunnels: [
          { ...API_TUNNEL, status: { name: 'started' } },
          {
            ...DOCS_TUNNEL,
            status: { name: 'failed', why: 'You do not have this domain any more.' },
          },
        ],
      },
    }),
  },
  {
    name: 'project-refused',
    alt: 'A project whose file has mistakes, each with its line and field',
    main: scripted({
      tunnels: [SHOP],
      project: {
        id: 'p',
        name: 'shop',
        state: 'refused',
        why: '/home/ann/shop/culvert.yml:3: tunnels.web.prot: no such field; did you mean port?\n/home/ann/shop/culvert.yml:5: tunnels.api.port: is 0; it takes a whole number from 1 to 65535.',
      },
    }),
  },
];
