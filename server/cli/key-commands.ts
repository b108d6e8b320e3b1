/** `culvert-relay key …`. */
import { type NewAccount, PLAN_RULES } from '../accounts/accounts.ts';
import { namePrefix, shownScope } from '../accounts/api-keys.ts';
import { type Plan, PLANS } from '../../shared/tunnel.ts';
import {
  ACCOUNT_NAME_RULE,
  type Administration,
  AGENT_PREFIX_DEFAULT,
  AGENT_PREFIX_RULE,
  INVITE_DEFAULT_TTL_SECONDS,
  INVITE_TTL_CEILING_SECONDS,
  INVITES_AT_ONCE_MAX,
  isAccountName,
  isAgentPrefix,
  isReserved,
  isScopeName,
  isSubdomain,
  KEY_TTL_CEILING_SECONDS,
  SCOPE_NAME_RULE,
  SUBDOMAIN_RULE,
} from '../administration/admin-actions.ts';
import {
  timestamp,
  timestampOr,
  viewInvitation,
  viewKey,
  viewNewInvitation,
} from '../administration/views.ts';
import type { Config } from '../config.ts';
import type { KeyScope } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { readLines, readPlan } from './account-commands.ts';
import {
  adminCommand,
  type GivenCommand,
  readAccountName,
  readCount,
  readLabel,
  readOptionalName,
  readTtl,
  table,
} from './administration.ts';
import { type CommandError, printOnce, type Shell, usageError } from './command.ts';

export const createKeyCommand = adminCommand({
  words: 'key create',
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
    "culvert-relay key create --account ann --label 'laptop'": 'create a key with full access to the account',
    'culvert-relay key create --account ann --name preview --expires 720h':
      'create a key for one tunnel, for CI',
    'culvert-relay key create --account ann --agent --prefix ann-ai':
      'create a key for an agent, whose tunnels can be called ann-ai-…',
    'culvert-relay key create --account team --label ann --owner':
      'create a key for the person who manages the account "team"',
    'culvert-relay key create --account ops --admin': 'create a key for the administration interface',
  },
  details: `The key is printed once and cannot be shown again.`,
  async run({ flags, json, administer }, shell) {
    const name = readAccountName(flags['account'], '--account');
    const wanted = {
      label: readLabel(flags['label'], '--label'),
      ttl: readTtl(flags['expires'], '--expires', KEY_TTL_CEILING_SECONDS),
      scope: readScope(flags),
    };
    const { account } = await administer(async (administration) => {
      const made = await administration.createKey(name, wanted);
      const { id, createdAt, expiresAt } = made.record;
      const end = expiresAt === null ? '' : `, valid until ${timestamp(expiresAt)}`;
      const text = `Created a key ${purposeOf(wanted.scope)} the account "${name}"${end}. It will not be shown again:`;
      const object = { id, account: name, key: made.key, created_at: timestamp(createdAt) };
      await printOnce(shell, json ? [JSON.stringify(object)] : [text, made.key], () =>
        administration.revokeKey(id),
      );
      return made;
    });
    const { title, customNames } = PLAN_RULES[account.plan];
    if (wanted.scope.kind === 'tunnel' && !customNames) {
      shell.err(
        `culvert-relay: the account "${name}" is on the ${title} plan, which does not allow names, so this key cannot create a tunnel`,
      );
      shell.err(`  To allow names, run: culvert-relay account set-plan --name "${name}" --plan dev`);
    }
  },
});

export const listKeysCommand = adminCommand({
  words: 'key list',
  forms: ['[options]'],
  summary: 'List valid API keys',
  options: { account: { value: 'NAME', text: "List only this account's keys." } },
  examples: { 'culvert-relay key list': "show each key's id, first 8 characters and last use" },
  async run({ flags, json, administer }, shell) {
    const name = readOptionalName(flags['account'], '--account');
    const keys = await administer((administration) => administration.listKeys(name));
    if (json) return shell.out(JSON.stringify({ keys: keys.map(viewKey) }));
    if (keys.length === 0) return shell.out('There are no valid keys. Create one with: key create');
    const rows = keys.map((key) => [
      `${key.hint}…`,
      key.account,
      key.label === '' ? '-' : key.label,
      shownScope(key.scope),
      timestampOr('-', key.lastUsedAt),
      timestampOr('-', key.expiresAt),
      timestamp(key.createdAt),
      key.id,
    ]);
    const titles = ['KEY', 'ACCOUNT', 'LABEL', 'SCOPE', 'LAST USED', 'EXPIRES', 'CREATED', 'ID'];
    for (const line of table([titles, ...rows])) shell.out(line);
  },
});

export const revokeKeyCommand = adminCommand({
  words: 'key revoke',
  forms: ['ID [options]'],
  summary: 'Revoke an API key',
  options: {},
  examples: {
    'culvert-relay key revoke 0b4bfc2e-7f0c-4f3c-9d53-0f1f6d3c7a11': 'revoke the key with this id',
  },
  details: `All connections that clients opened with the key are closed. "culvert-relay key list" shows the IDs.`,
  async run({ operands, json, administer }, shell) {
    const [id] = operands;
    if (id === undefined) throw usageError('key revoke needs a key\'s id; "culvert-relay key list" shows it');
    const key = await administer((administration) => administration.revokeKey(id));
    if (json) shell.out(JSON.stringify({ ...viewKey(key), status: 'revoked' }));
    else shell.out(`Revoked the key ${key.hint}… of the account "${key.account}".`);
  },
});

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

function readScope({ name, admin, owner, agent, prefix }: Readonly<Record<string, unknown>>): KeyScope {
  if ([admin === true, owner === true, agent === true, name !== undefined].filter(Boolean).length > 1)
    throw usageError(
      '--admin, --owner, --agent and --name cannot be combined: a key is for administration, for an owner, for an agent or for a tunnel',
    );
  if (agent === true) {
    const given = prefix ?? AGENT_PREFIX_DEFAULT;
    if (!isAgentPrefix(given))
      throw usageError(`--prefix must be ${AGENT_PREFIX_RULE}, not ${JSON.stringify(given)}`);
    return { kind: 'agent', prefix: given };
  }
  if (prefix !== undefined) throw usageError('--prefix can only be used with --agent');
  if (admin === true) return { kind: 'admin' };
  if (owner === true) return { kind: 'owner' };
  if (name === undefined) return { kind: 'all' };
  if (isScopeName(name)) return { kind: 'tunnel', name };
  throw usageError(`--name must be ${SCOPE_NAME_RULE}`);
}

/* `culvert-relay invite …`. */

export const createInvitesCommand = adminCommand({
  words: 'invite create',
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
  async run(given, shell) {
    const { config, flags, json, administer } = given;
    if (flags['from'] !== undefined) return await inviteEach(given, shell);
    const name = readAccountName(flags['account'], '--account');
    const plan = flags['plan'] === undefined ? 'dev' : readPlan(flags['plan']);
    const ttl = readTtl(flags['ttl'], '--ttl', INVITE_TTL_CEILING_SECONDS) ?? INVITE_DEFAULT_TTL_SECONDS;
    const label = readLabel(flags['label'], '--label');
    const count =
      flags['count'] === undefined ? 1 : readCount(flags['count'], '--count', INVITES_AT_ONCE_MAX);
    await administer(async (administration, store) => {
      const base = await relayOrigin(config, store);
      const made = await administration.invite(name, { plan, ttl, count, label });
      const views = made.map((invitation) => viewNewInvitation(invitation, name, base));
      const end = views[0]?.expires_at ?? '';
      if (!json)
        shell.err(
          `Each invitation works once, until ${end}, and gives one person a key for the account "${name}":`,
        );
      const lines = json ? [JSON.stringify({ invites: views })] : views.map(({ url }) => url);
      await printOnce(shell, lines, () => withdraw(administration, views));
    });
  },
});

async function withdraw(
  administration: Administration,
  invitations: readonly { id: string }[],
): Promise<void> {
  for (const { id } of invitations) await administration.revokeInvitation(id);
}

/** `invite create --from`. */
async function inviteEach({ config, flags, json, administer }: GivenCommand, shell: Shell): Promise<void> {
  const other = ['account', 'count', 'label'].find((name) => flags[name] !== undefined);
  if (other !== undefined) throw usageError(`--from cannot be combined with --${other}`);
  const plan = flags['plan'] === undefined ? 'dev' : readPlan(flags['plan']);
  const ttl = readTtl(flags['ttl'], '--ttl', INVITE_TTL_CEILING_SECONDS) ?? INVITE_DEFAULT_TTL_SECONDS;
  const people = readPeople(String(flags['from']), plan, config);
  await administer(async (administration, store) => {
    const base = await relayOrigin(config, store);
    const made = await administration.inviteEach(people, ttl);
    const views = made.map((invitation) => viewNewInvitation(invitation, invitation.record.label, base));
    if (!json)
      shell.err(
        `Each invitation works once, until ${views[0]?.expires_at ?? ''}, and gives one person a key for their own account:`,
      );
    const lines = json
      ? [JSON.stringify(views.map(({ account, url }) => ({ name: account, account, url })))]
      : views.map(({ account, url }) => `${account}\t${url}`);
    await printOnce(shell, lines, () => withdraw(administration, views));
  });
}

/** @throws CommandError that names the first wrong line */
function readPeople(path: string, plan: Plan, config: Config): NewAccount[] {
  const lines = readLines(path, INVITES_AT_ONCE_MAX, 'people');
  const people = lines.map((line) => readPerson(line, plan, config));
  const names = people.map(({ name }) => name);
  const subdomains = people.flatMap(({ subdomain }) => subdomain ?? []);
  for (const list of [names, subdomains]) {
    const twice = list.find((one, index) => list.indexOf(one) !== index);
    if (twice !== undefined) throw usageError(`--from: "${twice}" appears twice`);
  }
  return people;
}

function readPerson(line: string, plan: Plan, config: Config): NewAccount {
  const [name = '', givenPlan = '', subdomain = '', ...rest] = line.split(',').map((part) => part.trim());
  const wrong = (what: string): CommandError => usageError(`--from: "${line}": ${what}`);
  if (rest.length > 0) throw wrong('a line must be NAME, NAME,PLAN or NAME,PLAN,SUBDOMAIN');
  if (!isAccountName(name)) throw wrong(`the name must be ${ACCOUNT_NAME_RULE}`);
  const found = givenPlan === '' ? plan : PLANS.find((known) => known === givenPlan);
  if (found === undefined) throw wrong(`the plan must be one of ${PLANS.join(', ')}`);
  if (subdomain === '') return { name, plan: found, subdomain: null };
  if (!isSubdomain(subdomain)) throw wrong(`the subdomain must be ${SUBDOMAIN_RULE}`);
  if (isReserved(subdomain, config)) throw wrong(`the subdomain "${subdomain}" is reserved`);
  return { name, plan: found, subdomain };
}

export const listInvitesCommand = adminCommand({
  words: 'invite list',
  forms: ['[options]'],
  summary: 'List open invitations',
  options: {},
  examples: { 'culvert-relay invite list': 'show the invitations that nobody has accepted yet' },
  async run({ json, administer }, shell) {
    const open = await administer((administration) => administration.listInvitations());
    const views = open.map(viewInvitation);
    if (json) return shell.out(JSON.stringify({ invites: views }));
    if (views.length === 0) return shell.out('There are no open invitations. Create one with: invite create');
    const rows = views.map(({ id, account, label, expires_at: end }) => [
      account,
      label === '' ? '-' : label,
      end,
      id,
    ]);
    for (const line of table([['ACCOUNT', 'LABEL', 'EXPIRES', 'ID'], ...rows])) shell.out(line);
  },
});

export const revokeInviteCommand = adminCommand({
  words: 'invite revoke',
  forms: ['ID [options]'],
  summary: 'Revoke an invitation',
  options: {},
  examples: {
    'culvert-relay invite revoke 5f1a4c0e-2b61-4c55-8a3c-1d8b1d2f9e70': 'revoke the invitation with this id',
  },
  details: `"culvert-relay invite list" shows the IDs.`,
  async run({ operands, json, administer }, shell) {
    const [id] = operands;
    if (id === undefined)
      throw usageError('invite revoke needs an invitation\'s id; "culvert-relay invite list" shows it');
    await administer((administration) => administration.revokeInvitation(id));
    if (json) shell.out(JSON.stringify({ id, status: 'revoked' }));
    else shell.out('Revoked the invitation. It can no longer be used.');
  },
});

/**
 * Returns what the addresses of invitations begin with: the public URL that this command was given, or else the one
 * that the relay stored at its last start. The command may run without the settings of the relay.
 */
async function relayOrigin({ publicUrl }: Config, store: Store): Promise<string> {
  const origin = publicUrl?.origin ?? (await store.publicOrigin());
  if (origin !== undefined) return origin;
  throw usageError(
    'the relay has not stored its public URL yet; start the relay once, or give its URL with --public-url',
  );
}
