/** Routes of the names that an account keeps (protocol.md section 16). */
import {
  CHANGE_NAME_SCHEMA,
  KEEP_NAME_SCHEMA,
  KEPT_NAME,
  KEPT_NAME_LIST,
  type KeptName,
  readKeepName,
  readNameChanges,
} from '../../shared/names.ts';
import { timestamp } from '../administration/views.ts';
import type { NameWithTunnel } from '../tunnels/kept-names.ts';
import { type ApiDeps, idOf, type Route, statusOf } from './route.ts';

const RELEASED = statusOf('released', 'Released');

export function nameRoutes({ names, writes, clock }: ApiDeps): Route[] {
  function view({ kept, tunnelId }: NameWithTunnel): KeptName {
    const { name, createdAt, away, until } = kept;
    return {
      name,
      created_at: timestamp(createdAt),
      away,
      until: until === null || until <= clock.now() ? null : timestamp(until),
      tunnel_id: tunnelId,
    };
  }

  return [
    {
      call: 'post /v1/names',
      id: 'keepName',
      tag: 'Names',
      summary: 'Keep a name',
      description: 'No other account gets the name, or a host of it, until it is released.',
      caller: 'accountKey',
      body: { schema: KEEP_NAME_SCHEMA, required: true },
      results: {
        200: ['The name, which the account keeps already.', KEPT_NAME.schema],
        201: ['The name.', KEPT_NAME.schema, 'Location'],
      },
      errors: ['invalidName', 'tooManyNames', 'nameTaken', 'nameReserved'],
      async handle(ctx) {
        const { account } = ctx.state;
        const name = readKeepName(ctx.request.body);
        const { isNew, ...kept } = await writes.run(account.id, () => names.keep(account, name));
        if (isNew) {
          ctx.status = 201;
          ctx.set('Location', `/v1/names/${name}`);
        }
        return view(kept);
      },
    },
    {
      call: 'get /v1/names',
      id: 'listNames',
      tag: 'Names',
      summary: "List the account's kept names",
      caller: 'tunnelKey',
      results: { 200: ['The names.', KEPT_NAME_LIST.schema] },
      handle: async (ctx) => ({ names: (await names.list(ctx.state.account)).map(view) }),
    },
    {
      call: 'put /v1/names/{name}',
      id: 'changeName',
      tag: 'Names',
      summary: 'Say what visitors read at a kept name',
      description:
        'While no client serves the name, visitors read `away` immediately. Fields that are left out stay.',
      caller: 'accountKey',
      body: { schema: CHANGE_NAME_SCHEMA, required: true },
      results: { 200: ['The name.', KEPT_NAME.schema] },
      errors: ['invalidNameChange', 'nameNotFound'],
      async handle(ctx) {
        const { account } = ctx.state;
        const changes = readNameChanges(ctx.request.body);
        return view(await writes.run(account.id, () => names.change(account, idOf(ctx), changes)));
      },
    },
    {
      call: 'delete /v1/names/{name}',
      id: 'releaseName',
      tag: 'Names',
      summary: 'Release a kept name',
      description: 'It stays reserved for the account if its last tunnel ended within the time for that.',
      caller: 'accountKey',
      results: { 200: ['The name was released.', RELEASED.schema] },
      errors: ['nameNotFound'],
      async handle(ctx) {
        const { account, caller } = ctx.state;
        await writes.run(account.id, () => names.release(account, idOf(ctx), caller));
        return RELEASED.body;
      },
    },
  ];
}
