/** `culvert-relay key …` and `invite …`, and `/v1/admin/keys` and `/v1/admin/invites`. */
import { described, object, objectSchema, onlyValue, UUID } from '../../shared/fields.ts';
import { API_KEY } from '../../shared/team.ts';
import { type Plan, PLANS } from '../../shared/tunnel.ts';
import { type NewAccount, PLAN_RULES } from '../accounts/accounts.ts';
import { namePrefix } from '../accounts/api-keys.ts';
import type { KeyScope } from '../store/records.ts';
import { NEW_PLAN } from './account-actions.ts';
import { type AdminActions, given as field, listed, listing } from './action.ts';
import {
  ACCOUNT_NAME_RULE,
  AGENT_PREFIX_DEFAULT,
  type Given,
  INVITE_DEFAULT_TTL_SECONDS,
  INVITE_TTL_CEILING_SECONDS,
  isAccountName,
  isReserved,
  isSubdomain,
  KEY_LABEL_MAX_LENGTH,
  KEY_TTL_CEILING_SECONDS,
  SUBDOMAIN_RULE,
} from './given.ts';
import {
  ADMIN_INVITE,
  ADMIN_KEY,
  ADMIN_NEW_INVITE,
  timestamp,
  viewInvitation,
  viewKey,
  viewNewInvitation,
} from './views.ts';

/** Maximum number of invitations that one command can create. */
export const INVITES_AT_ONCE_MAX = 1000;

export const OF_ACCOUNT = { account: "the account's name; the default is all accounts" };

export const KEY_ACTIONS = {
  'key create': {
    forms: ['--account NAME [options]'],
    summary: 'Create an API key',
    options: {
      account: { value: 'NAME', text: 'The account that the key belongs to.' },
      label: { value: 'TEXT', text: 'A label of up to 100 characters that identifies the key in lists.' },
      expires: {
        value: 'DURATION',
        text: 'How long the key is valid, such as 720h. By default, the key is valid until it is revoked.',
      },
      name: { value: 'TUNNEL', text: 'Limit the key to the tunnel with this name.' },
      agent: {
        text: 'Create a key for an AI agent or another program that you do not trust with more: its tunnels end at most 1 h from now, need an access policy, and have neither domains nor wildcard hosts. It reaches no other tunnels.',
      },
      prefix: {
        value: 'WORD',
        text: `Prefix of the names of the agent's tunnels; a hyphen follows it. Default: ${AGENT_PREFIX_DEFAULT}.`,
      },
      owner: {
        text: 'Let the key also invite people to the account, revoke their keys and see what they have done ("culvert team").',
      },
      admin: { text: 'Limit the key to the administration interface (/v1/admin).' },
    },
    examples: {
      "culvert-relay key create --account ann --label 'laptop'":
        'create a key with full access to the account',
      'culvert-relay key create --account ann --name preview --expires 720h':
        'create a key for one tunnel, for CI',
      'culvert-relay key create --account ann --agent --prefix ann-ai':
        'create a key for an agent, whose tunnels can be called ann-ai-…',
      'culvert-relay key create --account team --label ann --owner':
        'create a key for the person who manages the account "team"',
      'culvert-relay key create --account ops --admin': 'create a key for the administration interface',
    },
    details: `The key is printed once and cannot be shown again.`,
    about: 'account',
    route: [
      'post /accounts/{id}/keys',
      'adminCreateKey',
      object(
        { ...ADMIN_KEY.fields, key: described(API_KEY, 'the key, which is not shown again') },
        'AdminNewKey',
      ).schema,
      {
        summary: 'Create a key',
        takes: objectSchema(
          {
            'label?': { type: ['string', 'null'], maxLength: KEY_LABEL_MAX_LENGTH },
            'expires?': field(
              'string',
              'how long the key is valid; without this field, it is valid until it is revoked',
            ),
            'name?': field('string', 'limits the key to the tunnel with this name'),
            'owner?': field(
              'boolean',
              'whether the key may also invite people to the account and revoke their keys',
              'false',
            ),
            'agent?': field(
              'boolean',
              "whether the key is an agent's: its tunnels end after at most 1 h, need an access policy, and have names below a prefix",
              'false',
            ),
            'prefix?': field(
              'string',
              "prefix of the names of an agent's tunnels; a hyphen follows it",
              AGENT_PREFIX_DEFAULT,
            ),
          },
          'AdminCreateKey',
        ),
        errors: ['noSuch'],
      },
    ],
    read(given) {
      const label = given.label();
      const ttl = given.ttl('expires', KEY_TTL_CEILING_SECONDS);
      const scope = given.scope();
      return async ({ admin, subject: name }) => {
        const { key, record, account } = await admin.createKey(name, { label, ttl, scope });
        const { id, createdAt, expiresAt } = record;
        const end = expiresAt === null ? '' : `, valid until ${timestamp(expiresAt)}`;
        const { title, customNames } = PLAN_RULES[account.plan];
        return {
          json: { ...viewKey({ ...record, account: name, lastUsedAt: null }), key },
          printed: { id, account: name, key, created_at: timestamp(createdAt) },
          text: () => [
            `Created a key ${purposeOf(scope)} the account "${name}"${end}. It will not be shown again:`,
            key,
          ],
          undo: () => admin.revokeKey(id),
          warnings:
            scope.kind !== 'tunnel' || customNames
              ? []
              : [
                  `culvert-relay: the account "${name}" is on the ${title} plan, which does not allow names, so this key cannot create a tunnel`,
                  `  To allow names, run: culvert-relay account set-plan --name "${name}" --plan dev`,
                ],
        };
      };
    },
  },
  'key list': {
    summary: 'List valid API keys',
    options: { account: { value: 'NAME', text: "List only this account's keys." } },
    examples: { 'culvert-relay key list': "show each key's id, first 8 characters and last use" },
    route: [
      'get /keys',
      'adminListKeys',
      listed('AdminKeyList', 'keys', ADMIN_KEY),
      { summary: 'List valid keys', query: OF_ACCOUNT, errors: ['noSuch', 'invalidAdminRequest'] },
    ],
    read(given) {
      const account = given.accountFilter();
      return async ({ admin }) =>
        listing(
          'keys',
          (await admin.listKeys(account)).map(viewKey),
          {
            KEY: ({ hint }) => `${hint}…`,
            ACCOUNT: 'account',
            LABEL: labelOf,
            SCOPE: 'scope',
            'LAST USED': 'last_used_at',
            EXPIRES: 'expires_at',
            CREATED: 'created_at',
            ID: 'id',
          },
          'There are no valid keys. Create one with: key create',
        );
    },
  },
  'key revoke': {
    forms: ['ID [options]'],
    summary: 'Revoke an API key',
    examples: {
      'culvert-relay key revoke 0b4bfc2e-7f0c-4f3c-9d53-0f1f6d3c7a11': 'revoke the key with this id',
    },
    details: `All connections that clients opened with the key are closed. "culvert-relay key list" shows the IDs.`,
    about: 'key',
    status: 'revoked',
    route: ['delete /keys/{id}', 'adminRevokeKey', ADMIN_KEY.schema, { summary: 'Revoke a key' }],
    async act({ admin, subject: id }) {
      const key = await admin.revokeKey(id);
      return { json: viewKey(key), text: `Revoked the key ${key.hint}… of the account "${key.account}".` };
    },
  },
} satisfies AdminActions;

function labelOf({ label }: { readonly label: string }): string {
  return label === '' ? '-' : label;
}

function purposeOf(scope: KeyScope): string {
  switch (scope.kind) {
    case 'all':
      return 'for';
    case 'owner':
      return 'for an owner of';
    case 'admin':
      return 'to administer the relay with, of';
    case 'tunnel':
      return `for the tunnel "${scope.name}" of`;
    case 'agent':
      return `for an agent, whose tunnels can be called "${namePrefix(scope)}…", of`;
  }
}

export const INVITE_ACTIONS = {
  'invite list': {
    summary: 'List open invitations',
    examples: { 'culvert-relay invite list': 'show the invitations that nobody has accepted yet' },
    route: ['get /invites', 'adminListInvites', listed('AdminInviteList', 'invites', ADMIN_INVITE)],
    act: async ({ admin }) =>
      listing(
        'invites',
        (await admin.listInvitations()).map(viewInvitation),
        { ACCOUNT: 'account', LABEL: labelOf, EXPIRES: 'expires_at', ID: 'id' },
        'There are no open invitations. Create one with: invite create',
      ),
  },
  'invite create': {
    forms: ['--account NAME [options]', '--from FILE [options]'],
    summary: 'Create invitations',
    options: {
      account: {
        value: 'NAME',
        text: 'The account that invited people get a key for. It is created if it does not exist.',
      },
      plan: { value: 'free|dev|team', text: "The account's plan, if the account is new. Default: dev." },
      label: {
        value: 'TEXT',
        text: "Whom the invitations are for. The label becomes the key's label instead of the machine's name.",
      },
      from: {
        value: 'FILE',
        text: `File with up to ${INVITES_AT_ONCE_MAX} people, one per line: NAME, NAME,PLAN or NAME,PLAN,SUBDOMAIN. Each gets an invitation to the account with that name, which is created if necessary. "-" reads standard input.`,
      },
      ttl: { value: 'DURATION', text: 'How long the invitations are valid. Default: 24h.' },
      count: { value: 'NUMBER', text: 'How many invitations to create. Default: 1.' },
    },
    examples: {
      'culvert-relay invite create --account ann': 'create an invitation for one person',
      'culvert-relay invite create --account team --count 5 --ttl 72h':
        'create five invitations that are valid for three days',
      'culvert-relay invite create --from people.txt --ttl 72h':
        'create an account and an invitation for each line, and print each name with its address',
    },
    details: `
      Each invitation is an address that gives one person an API key. Send each address to one person, who then
      runs "culvert login ADDRESS" or opens the address in a browser. The addresses begin with the relay's public URL.

      With --from, nothing is created if any line is wrong or a subdomain is taken.`,
    route: [
      'post /invites',
      'adminInvite',
      listed('AdminNewInviteList', 'invites', ADMIN_NEW_INVITE),
      {
        takes: objectSchema(
          {
            account: {
              type: 'string',
              description: 'the name of the account, which is created if it does not exist',
            },
            'plan?': { ...NEW_PLAN, ...field('string', 'the plan, if the account is new', 'dev') },
            'ttl?': field('string', 'a duration', '24h'),
            'count?': { ...field('integer', 'how many', '1'), minimum: 1, maximum: INVITES_AT_ONCE_MAX },
            'label?': {
              ...field('string', "whom the invitations are for; the label becomes the key's label"),
              maxLength: KEY_LABEL_MAX_LENGTH,
            },
          },
          'AdminInvite',
        ),
      },
    ],
    read(given) {
      const isFromFile = given.command !== undefined && given.has('from');
      const other = isFromFile ? ['account', 'count', 'label'].find((name) => given.has(name)) : undefined;
      if (other !== undefined) given.command?.misused(`--from cannot be combined with --${other}`);
      const name = isFromFile ? '' : given.accountName('account');
      const plan = given.plan('dev');
      const ttl = given.ttl('ttl', INVITE_TTL_CEILING_SECONDS) ?? INVITE_DEFAULT_TTL_SECONDS;
      const count = given.count(INVITES_AT_ONCE_MAX, 1);
      const label = given.label();
      const people = isFromFile ? readPeople(given, plan) : [];
      return async ({ admin, origin }) => {
        const base = await origin();
        const made = isFromFile
          ? await admin.inviteEach(people, ttl)
          : await admin.invite(name, { plan, ttl, count, label });
        const invites = made.map((one) => viewNewInvitation(one, isFromFile ? one.record.label : name, base));
        const whose = isFromFile ? 'their own account' : `the account "${name}"`;
        return {
          json: { invites },
          ...(isFromFile && {
            printed: invites.map(({ account, url }) => ({ name: account, account, url })),
          }),
          notice: `Each invitation works once, until ${invites[0]?.expires_at ?? ''}, and gives one person a key for ${whose}:`,
          text: () => invites.map(({ account, url }) => (isFromFile ? `${account}\t${url}` : url)),
          async undo() {
            for (const { id } of invites) await admin.revokeInvitation(id);
          },
        };
      };
    },
  },
  'invite revoke': {
    forms: ['ID [options]'],
    summary: 'Revoke an invitation',
    examples: {
      'culvert-relay invite revoke 5f1a4c0e-2b61-4c55-8a3c-1d8b1d2f9e70':
        'revoke the invitation with this id',
    },
    details: `"culvert-relay invite list" shows the IDs.`,
    about: 'invite',
    route: [
      'delete /invites/{id}',
      'adminRevokeInvite',
      objectSchema({ id: UUID.schema, status: onlyValue('revoked') }, 'AdminRevokedInvite'),
    ],
    async act({ admin, subject: id }) {
      await admin.revokeInvitation(id);
      return {
        json: { id, status: 'revoked' },
        text: 'Revoked the invitation. It can no longer be used.',
      };
    },
  },
} satisfies AdminActions;

/** The people of a file, or the first wrong line. */
function readPeople(given: Given, plan: Plan): NewAccount[] {
  const lines = given.command?.lines(INVITES_AT_ONCE_MAX, 'people') ?? [];
  const people = lines.map((line) => readPerson(given, line, plan));
  const names = people.map(({ name }) => name);
  const subdomains = people.flatMap(({ subdomain }) => subdomain ?? []);
  for (const list of [names, subdomains]) {
    const twice = list.find((one, index) => list.indexOf(one) !== index);
    if (twice !== undefined) given.command?.misused(`--from: "${twice}" appears twice`);
  }
  return people;
}

function readPerson({ command, own }: Given, line: string, plan: Plan): NewAccount {
  const [name = '', givenPlan = '', subdomain = '', ...rest] = line.split(',').map((part) => part.trim());
  const found = givenPlan === '' ? plan : PLANS.find((known) => known === givenPlan);
  const wrong =
    (rest.length > 0 && 'a line must be NAME, NAME,PLAN or NAME,PLAN,SUBDOMAIN') ||
    (!isAccountName(name) && `the name must be ${ACCOUNT_NAME_RULE}`) ||
    (found === undefined && `the plan must be one of ${PLANS.join(', ')}`) ||
    (subdomain !== '' && !isSubdomain(subdomain) && `the subdomain must be ${SUBDOMAIN_RULE}`) ||
    (isReserved(subdomain, own) && `the subdomain "${subdomain}" is reserved`);
  if (wrong !== false) command?.misused(`--from: "${line}": ${wrong}`);
  return { name, plan: found ?? plan, subdomain: subdomain === '' ? null : subdomain };
}
