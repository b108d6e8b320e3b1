/** `culvert-relay account …`, and `/v1/admin/accounts`. */
import { described, object, objectSchema, optional } from '../../shared/fields.ts';
import { table } from '../../shared/help-text.ts';
import { API_KEY } from '../../shared/team.ts';
import { PLANS } from '../../shared/tunnel.ts';
import { type AdminActions, given as field, listed, listing, suspension } from './action.ts';
import type { MadeAccount } from './administration.ts';
import { ACCOUNT_NAME_RULE, type Given, isAccountName, REASON_MAX_LENGTH } from './given.ts';
import { ADMIN_ACCOUNT, viewAccount } from './views.ts';

/** Maximum number of accounts that one command can create. */
export const ACCOUNTS_AT_ONCE_MAX = 1000;

const NAME = { value: 'NAME', text: "The account's name." };
const SUBDOMAIN = field('string', 'null if there is no subdomain');
const { schema: ACCOUNT } = ADMIN_ACCOUNT;
export const NEW_PLAN = { ...field('string', 'the plan', 'dev'), enum: [...PLANS, null] };
export const REASON = { value: 'TEXT', text: "The reason, which is shown to the account's owner." };
const SUSPENSION = field('string', 'the reason for the suspension; null ends the suspension');
export const SUSPEND = objectSchema(
  { reason: { ...SUSPENSION, maxLength: REASON_MAX_LENGTH } },
  'AdminSuspend',
);

export const ACCOUNT_ACTIONS = {
  'account list': {
    summary: 'List all accounts',
    examples: { 'culvert-relay account list': 'show the name, plan, subdomain and id of each account' },
    route: ['get /accounts', 'adminListAccounts', listed('AdminAccountList', 'accounts', ADMIN_ACCOUNT)],
    act: async ({ admin }) =>
      listing(
        'accounts',
        (await admin.listAccounts()).map(viewAccount),
        {
          NAME: 'name',
          PLAN: 'plan',
          SUBDOMAIN: 'subdomain',
          CREATED: 'created_at',
          ID: 'id',
          '': suspension,
        },
        (database) => `There are no accounts in ${database}. Create one with: account create`,
      ),
  },
  'account create': {
    forms: ['--name NAME --plan free|dev|team [options]', '--from FILE --plan free|dev|team [options]'],
    summary: 'Create one or more accounts',
    options: {
      name: NAME,
      plan: { value: 'free|dev|team', text: "The account's plan." },
      subdomain: {
        value: 'LABEL',
        text: "The account's subdomain. Its tunnels are available at {slug}.LABEL.<service domain>.",
      },
      'with-key': { text: 'Also create and print an API key for each account. The key is not shown again.' },
      count: { value: 'NUMBER', text: 'Create this many accounts: NAME-1, NAME-2 and so on.' },
      from: {
        value: 'FILE',
        text: 'Create an account for each line of this file. Use - to read standard input.',
      },
    },
    examples: {
      'culvert-relay account create --name ann --plan dev --with-key':
        'create an account together with its first key',
      'culvert-relay account create --name team --count 20 --plan dev': 'create team-1 to team-20',
      'culvert-relay account create --from names.txt --plan dev':
        'create an account for each line of the file',
    },
    details: `If any of the names is taken, no account is created.`,
    route: [
      'post /accounts',
      'adminCreateAccount',
      object(
        {
          ...ADMIN_ACCOUNT.fields,
          key: optional(described(API_KEY, 'with `with_key`; shown only in this response')),
        },
        'AdminNewAccount',
      ).schema,
      {
        summary: 'Create an account',
        takes: objectSchema(
          {
            name: { type: 'string', description: '1-100 characters' },
            'plan?': NEW_PLAN,
            'subdomain?': SUBDOMAIN,
            'with_key?': field('boolean', 'whether to create a key as well', 'false'),
          },
          'AdminCreateAccount',
        ),
        errors: ['taken'],
      },
    ],
    read(given) {
      const { command } = given;
      const several = command === undefined ? undefined : readNames(given);
      const names = several ?? [given.accountName('name')];
      const plan = given.plan(command === undefined ? 'dev' : undefined);
      const subdomain = given.subdomain();
      if (several !== undefined && subdomain !== null)
        command?.misused('--subdomain can only be used for one account');
      const withKeys = given.flag('with_key');
      return async ({ admin }) => {
        const known = several === undefined ? [] : (await admin.listAccounts()).map(({ name }) => name);
        const taken = names.find((name) => known.includes(name));
        if (taken !== undefined) command?.failed(`the name "${taken}" is taken; no account was created`);
        const made = await admin.createAccounts({ names, plan, subdomain, withKeys });
        const accounts = made.map(viewMade);
        const [one = {}] = accounts;
        const remove = async (): Promise<void> => {
          for (const name of names) await admin.removeAccount(name);
        };
        // Without keys, nothing is lost.
        const undo = withKeys ? remove : undefined;
        if (several === undefined) return { json: one, text: () => made.flatMap(linesOf), undo };
        return {
          json: { accounts },
          notice: `Created ${made.length} accounts.${withKeys ? ' Their keys will not be shown again:' : ''}`,
          text: () => table(made.map(({ account, key = '' }) => [account.name, key])),
          undo,
        };
      };
    },
  },
  'account get': {
    summary: 'Get an account',
    about: 'name',
    route: ['get /accounts/{id}', 'adminGetAccount', ACCOUNT, { errors: ['noSuch'] }],
    act: async ({ admin, subject }) => ({ json: viewAccount(await admin.account(subject)), text: '' }),
  },
  'account remove': {
    forms: ['--name NAME [options]'],
    summary: 'Delete an account together with its keys and tunnels',
    options: { name: NAME },
    examples: {
      'culvert-relay account remove --name ann': "close the account's tunnels and delete the account",
    },
    about: 'name',
    status: 'removed',
    route: ['delete /accounts/{id}', 'adminRemoveAccount', ACCOUNT],
    act: async ({ admin, subject: name }) => ({
      json: viewAccount(await admin.removeAccount(name)),
      text: `Removed the account "${name}" together with its keys and tunnels.`,
    }),
  },
  'account set-plan': {
    forms: ['--name NAME --plan free|dev|team [options]'],
    summary: "Change an account's plan",
    options: { name: NAME, plan: { value: 'free|dev|team', text: 'The new plan.' } },
    examples: {
      'culvert-relay account set-plan --name ann --plan team': 'move the account to the team plan',
    },
    details: `Open tunnels stay open, even if the new plan allows fewer tunnels.`,
    about: 'name',
    route: [
      'put /accounts/{id}/plan',
      'adminSetPlan',
      ACCOUNT,
      { takes: objectSchema({ plan: { type: 'string', enum: PLANS } }, 'AdminSetPlan') },
    ],
    read(given) {
      const plan = given.plan();
      return async ({ admin, subject: name }) => ({
        json: viewAccount(await admin.setPlan(name, plan)),
        text: `The account "${name}" is now on the ${plan} plan. Open tunnels stay open.`,
      });
    },
  },
  'account set-subdomain': {
    forms: ['--name NAME --subdomain LABEL [options]', '--name NAME --none [options]'],
    summary: "Change or remove an account's subdomain",
    options: {
      name: NAME,
      subdomain: {
        value: 'LABEL',
        text: 'The new subdomain: 2 to 63 lowercase letters, digits and hyphens.',
      },
      none: { text: 'Remove the subdomain.' },
    },
    examples: {
      'culvert-relay account set-subdomain --name ann --subdomain ann':
        'give the account the subdomain "ann"',
      'culvert-relay account set-subdomain --name ann --none': 'remove the subdomain',
    },
    details: `Open tunnels get the new address immediately.`,
    about: 'name',
    route: [
      'put /accounts/{id}/subdomain',
      'adminSetSubdomain',
      ACCOUNT,
      { takes: objectSchema({ subdomain: SUBDOMAIN }, 'AdminSetSubdomain'), errors: ['taken'] },
    ],
    read(given) {
      const { command, own } = given;
      if (given.has('subdomain') === given.has('none'))
        command?.misused('account set-subdomain needs --subdomain LABEL, or --none to remove the subdomain');
      const subdomain = given.subdomain(command === undefined);
      const now =
        subdomain === null
          ? 'no longer has a subdomain'
          : `now has its tunnels under ${subdomain}.${own.serviceDomain}`;
      return async ({ admin, subject: name }) => ({
        json: viewAccount(await admin.setSubdomain(name, subdomain)),
        text: `The account "${name}" ${now}. This includes open tunnels.`,
      });
    },
  },
  'account suspend': {
    forms: ['--name NAME --reason TEXT [options]'],
    summary: 'Suspend an account',
    options: { name: NAME, reason: REASON },
    examples: {
      "culvert-relay account suspend --name ann --reason 'phishing at my-app'":
        'block the account until you resume it',
    },
    details: `
      Visitors to its tunnels get status 451, requests with its API keys get status 403, and its clients are
      disconnected.`,
    about: 'name',
    route: [
      'put /accounts/{id}/suspension',
      'adminSuspendAccount',
      ACCOUNT,
      { summary: 'Suspend or resume an account', takes: SUSPEND },
    ],
    read(given) {
      const reason = given.reason();
      return async ({ admin, subject: name }) => ({
        json: viewAccount(await admin.suspendAccount(name, reason)),
        text: `Suspended the account "${name}": visitors to its tunnels get status 451, requests with its keys get status 403, and its clients are disconnected.`,
      });
    },
  },
  'account resume': {
    forms: ['--name NAME [options]'],
    summary: 'Resume a suspended account',
    options: { name: NAME },
    examples: { 'culvert-relay account resume --name ann': "allow the account's visitors and keys again" },
    about: 'name',
    act: async ({ admin, subject: name }) => ({
      json: viewAccount(await admin.suspendAccount(name, null)),
      text: `Resumed the account "${name}", including its keys and tunnels.`,
    }),
  },
} satisfies AdminActions;

function linesOf({ account: { name, plan, subdomain }, key }: MadeAccount): string[] {
  const label = subdomain === null ? 'no subdomain' : `subdomain ${subdomain}`;
  const created = `Created the account "${name}" (${plan} plan, ${label}).`;
  if (key === undefined) return [`${created} Create a key for it with: key create`];
  return [`${created} Its key will not be shown again:`, key];
}

function viewMade({ account, key }: MadeAccount) {
  return key === undefined ? viewAccount(account) : { ...viewAccount(account), key };
}

/** The names of several accounts: one with numbers, or those of a file. */
function readNames(given: Given): string[] | undefined {
  const { command } = given;
  if (given.has('from')) {
    if (given.has('name') || given.has('count'))
      command?.misused('--from cannot be combined with --name or --count');
    const names = command?.lines(ACCOUNTS_AT_ONCE_MAX, 'names') ?? [];
    const wrong = names.findIndex((name, index) => !isAccountName(name) || names.indexOf(name) !== index);
    if (wrong !== -1)
      command?.misused(`--from: "${names[wrong]}" is not a valid account name, or appears twice`);
    return names;
  }
  if (!given.has('count')) return undefined;
  const name = given.accountName('name');
  const numbers = Array.from({ length: given.count(ACCOUNTS_AT_ONCE_MAX, 1) }, (_, index) => index + 1);
  const names = numbers.map((number) => `${name}-${number}`);
  return names.every(isAccountName) ? names : given.refuse('name', ACCOUNT_NAME_RULE);
}
