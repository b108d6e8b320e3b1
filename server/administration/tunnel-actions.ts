/** `culvert-relay tunnel …`, `audit` and `secrets renew`, and `/v1/admin/tunnels` and `/v1/admin/audit`. */
import { listOf, object } from '../../shared/fields.ts';
import { AUDIT_MAX } from '../store/records.ts';
import { REASON, SUSPEND } from './account-actions.ts';
import { type AdminActions, listed, listing, suspension, tableOf } from './action.ts';
import { OF_ACCOUNT } from './key-actions.ts';
import {
  ADMIN_ACT,
  ADMIN_SUSPENDED_NAME,
  ADMIN_TUNNEL,
  viewAct,
  viewResumed,
  viewSuspendedName,
  viewTunnel,
} from './views.ts';

/** How many acts the command shows unless more are asked for. */
const ACTS_SHOWN = 100;

export const TUNNEL_ACTIONS = {
  'tunnel list': {
    summary: 'List live tunnels and suspended addresses',
    options: { account: { value: 'NAME', text: "List only this account's tunnels and addresses." } },
    examples: { 'culvert-relay tunnel list': "show each tunnel's account, traffic and expiry" },
    route: [
      'get /tunnels',
      'adminListTunnels',
      object(
        {
          tunnels: listOf(ADMIN_TUNNEL, 'oldest first'),
          suspended_names: listOf(
            ADMIN_SUSPENDED_NAME,
            'the addresses of tunnels that ended while they were suspended, sorted by slug',
          ),
        },
        'AdminTunnelList',
      ).schema,
      { summary: 'List live tunnels', query: OF_ACCOUNT, errors: ['noSuch', 'invalidAdminRequest'] },
    ],
    read(given) {
      const account = given.accountFilter();
      return async ({ admin }) => {
        const tunnels = (await admin.listTunnels(account)).map(viewTunnel);
        const names = (await admin.listSuspendedNames(account)).map(viewSuspendedName);
        const columns = { ADDRESS: 'slug', ACCOUNT: 'account', DOMAIN: 'domain', ID: 'id' } as const;
        const blocked = [
          '',
          'These addresses belonged to tunnels that closed or expired while suspended. They stay blocked until you run "culvert-relay tunnel resume":',
          ...tableOf(names, { ...columns, SUSPENDED: 'suspended' }),
        ];
        const live = listing(
          'tunnels',
          tunnels,
          {
            TUNNEL: 'slug',
            ACCOUNT: 'account',
            REQUESTS: 'requests',
            BYTES: (tunnel) => String(tunnel.bytes_in + tunnel.bytes_out),
            EXPIRES: 'expires_at',
            ID: 'id',
            '': suspension,
          },
          'There are no live tunnels.',
        );
        return {
          json: { tunnels, suspended_names: names },
          text: (database) => [...live.text(database), ...(names.length === 0 ? [] : blocked)],
        };
      };
    },
  },
  'tunnel close': {
    forms: ['ID|SLUG [options]'],
    summary: 'Close a tunnel',
    examples: { 'culvert-relay tunnel close my-app': 'close the tunnel and disconnect its client' },
    about: 'tunnel',
    status: 'closed',
    route: ['delete /tunnels/{id}', 'adminCloseTunnel', ADMIN_TUNNEL.schema],
    async act({ admin, subject }) {
      const closed = viewTunnel(await admin.closeTunnel(subject));
      return { json: closed, text: `Closed the tunnel ${closed.slug} of the account "${closed.account}".` };
    },
  },
  'tunnel suspend': {
    forms: ['ID|SLUG --reason TEXT [options]'],
    summary: 'Suspend a tunnel',
    options: { reason: REASON },
    examples: { "culvert-relay tunnel suspend my-app --reason 'reported as phishing'": 'block its visitors' },
    details: `Visitors get status 451. If the tunnel closes or expires, nobody can use its name or domain until you resume it.`,
    about: 'tunnel',
    route: [
      'put /tunnels/{id}/suspension',
      'adminSuspendTunnel',
      { title: 'AdminTunnelSuspension', anyOf: [ADMIN_TUNNEL.schema, ADMIN_SUSPENDED_NAME.schema] },
      { summary: 'Suspend or resume a tunnel', takes: SUSPEND },
    ],
    read(given) {
      const reason = given.reason();
      return async ({ admin, subject }) => {
        if (reason === null) return resumed(await admin.resumeTunnel(subject));
        const suspended = viewTunnel(await admin.suspendTunnel(subject, reason));
        return {
          json: suspended,
          text: `Suspended the tunnel ${suspended.slug} of the account "${suspended.account}": its visitors get status 451. If the tunnel closes or expires, its name stays blocked.`,
        };
      };
    },
  },
  'tunnel resume': {
    forms: ['ID|SLUG [options]'],
    summary: 'Resume a suspended tunnel, or free its name',
    examples: { 'culvert-relay tunnel resume my-app': 'let its visitors in again' },
    about: 'tunnel',
    act: async ({ admin, subject }) => resumed(await admin.resumeTunnel(subject)),
  },
} satisfies AdminActions;

function resumed(what: Parameters<typeof viewResumed>[0]) {
  const text =
    'tunnel' in what
      ? `The tunnel ${what.tunnel.slug} of the account "${what.account.name}" accepts visitors again.`
      : `The tunnel has ended. Its name ${what.slug} can be used again.`;
  return { json: viewResumed(what), text };
}

export const RELAY_ACTIONS = {
  audit: {
    summary: 'Show the audit log',
    options: { count: { value: 'NUMBER', text: 'How many entries to show, up to 10000. Default: 100.' } },
    examples: { 'culvert-relay audit': 'show who changed what, and when' },
    route: [
      'get /audit',
      'adminAudit',
      listed('AdminAudit', 'acts', ADMIN_ACT),
      {
        summary: 'List the audit log',
        query: { count: `how many actions to return, from 1 to ${AUDIT_MAX}; the default is all of them` },
        errors: ['invalidAdminRequest'],
      },
    ],
    read(given) {
      const count = given.count(AUDIT_MAX, given.command === undefined ? AUDIT_MAX : ACTS_SHOWN);
      return async ({ admin }) =>
        listing(
          'acts',
          (await admin.audit(count)).map(viewAct),
          { AT: 'at', WHO: 'actor', DID: 'action', TO: 'subject', '': 'detail' },
          'The audit log is empty.',
        );
    },
  },
  'secrets renew': {
    summary: 'Invalidate all access cookies and signed links',
    examples: { 'culvert-relay secrets renew': 'use this, for example, after the database was stolen' },
    details: `Visitors to protected tunnels will have to authenticate again, and owners will have to create new links.`,
    async act({ admin }) {
      const links = await admin.renewSecrets();
      const ended = `${links} signed ${links === 1 ? 'link has' : 'links have'} stopped working. Create new ones.`;
      return {
        json: { status: 'renewed', links_ended: links },
        text: () => [
          `Renewed the secrets that protect cookies, signed links and TLS session tickets. Visitors have to log in again.`,
          ...(links > 0 ? [ended] : []),
        ],
      };
    },
  },
} satisfies AdminActions;
