/** Routes for the visitors of a tunnel: signed links and knocks (protocol.md sections 11.2 and 11.3). */
import { KNOCK, KNOCK_ANSWER_SCHEMA, KNOCK_LIST, type Knock, readKnockAnswer } from '../../shared/knocks.ts';
import {
  CREATE_LINK,
  type Link,
  LINK_LIST,
  LINK_PARAMETER,
  NEW_LINK,
  type NewLink,
  readCreateLink,
} from '../../shared/links.ts';
import { endOf, stateOf } from '../access/approval-requests.ts';
import { maxTtlOf } from '../accounts/api-keys.ts';
import { LINKS_MAX, REVOKED_LINKS_MAX } from '../limits.ts';
import type { LinkRecord, StoredKnock } from '../store/records.ts';
import { type Addresses, tunnelUrls } from '../tunnels/live-tunnel.ts';
import type { MadeLink } from '../tunnels/tunnel-links.ts';
import { type ApiDeps, idOf, partOf, rfc3339, type Route, statusOf } from './route.ts';

function viewLink({ id, note, path, createdAt, expiresAt }: LinkRecord): Link {
  return {
    id,
    note,
    ...(path !== null && { path }),
    created_at: rfc3339(createdAt),
    expires_at: rfc3339(expiresAt),
  };
}

function viewNewLink({ tunnel, link, token }: MadeLink, addresses: Addresses): NewLink {
  const path = link.path ?? '/';
  const { public_url } = tunnelUrls(tunnel, addresses);
  const url = `${public_url}${path}${path.includes('?') ? '&' : '?'}${LINK_PARAMETER}=${token}`;
  return { ...viewLink(link), url };
}

function viewKnock(knock: StoredKnock): Knock {
  const { id, address, agent, at } = knock;
  return { id, status: stateOf(knock), address, agent, at: rfc3339(at), ends_at: rfc3339(endOf(knock)) };
}

const REVOKED = statusOf('revoked', 'Revoked');

export function visitorRoutes({ links, knocks, writes, addresses }: ApiDeps): Route[] {
  return [
    {
      method: 'post',
      path: '/v1/tunnels/{id}/links',
      id: 'createLink',
      tag: 'Access',
      summary: 'Create a signed link',
      description:
        `Anyone who opens it has access until it expires. A tunnel can have ${LINKS_MAX} valid links at a time, and ${REVOKED_LINKS_MAX} that were revoked ` +
        'before they expired.',
      caller: 'tunnelOwner',
      body: { schema: CREATE_LINK.schema, required: false },
      results: { 201: ['The link.', NEW_LINK.schema] },
      errors: ['invalidTtl', 'ttlTooLong', 'invalidLink', 'linksOff', 'tooManyLinks'],
      async handle(ctx) {
        const { account, caller } = ctx.state;
        const wanted = readCreateLink(ctx.request.body, maxTtlOf(caller.scope));
        const made = await writes.run(account.id, () => links.create(account, idOf(ctx), wanted));
        return viewNewLink(made, addresses);
      },
    },
    {
      method: 'get',
      path: '/v1/tunnels/{id}/links',
      id: 'listLinks',
      tag: 'Access',
      summary: "List a tunnel's valid links",
      caller: 'tunnelOwner',
      results: { 200: ['The links.', LINK_LIST.schema] },
      async handle(ctx) {
        const found = await links.list(ctx.state.account, idOf(ctx));
        return { links: found.map(viewLink) };
      },
    },
    {
      method: 'delete',
      path: '/v1/tunnels/{id}/links/{link_id}',
      id: 'revokeLink',
      tag: 'Access',
      summary: 'Revoke a link',
      description:
        "Within a second, the link and its visitors' cookies stop working, and those visitors' connections are closed.",
      caller: 'tunnelOwner',
      results: { 200: ['The link was revoked.', REVOKED.schema] },
      errors: ['linkNotFound'],
      async handle(ctx) {
        const { account } = ctx.state;
        await writes.run(account.id, () => links.revoke(account, idOf(ctx), partOf(ctx)));
        return REVOKED.body;
      },
    },
    {
      method: 'get',
      path: '/v1/tunnels/{id}/knocks',
      id: 'listKnocks',
      tag: 'Access',
      summary: "List a tunnel's approval requests",
      description:
        'The list includes visitors who are waiting, who have been approved, or who were denied in the last 5 minutes.',
      caller: 'tunnelOwner',
      results: { 200: ['The knocks.', KNOCK_LIST.schema] },
      async handle(ctx) {
        const found = await knocks.list(ctx.state.account, idOf(ctx));
        return { knocks: found.map(viewKnock) };
      },
    },
    {
      method: 'put',
      path: '/v1/tunnels/{id}/knocks/{knock_id}',
      id: 'answerKnock',
      tag: 'Access',
      summary: 'Approve or deny a visitor',
      description: "Denying an approved visitor revokes the approval and closes the visitor's connections.",
      caller: 'tunnelOwner',
      body: { schema: KNOCK_ANSWER_SCHEMA, required: true },
      results: { 200: ['The knock.', KNOCK.schema] },
      errors: ['invalidKnockAnswer', 'knockNotFound', 'tooManyAdmitted'],
      async handle(ctx) {
        const { account, caller } = ctx.state;
        const answer = readKnockAnswer(ctx.request.body, maxTtlOf(caller.scope));
        return viewKnock(
          await writes.run(account.id, () => knocks.answer(account, idOf(ctx), partOf(ctx), answer)),
        );
      },
    },
  ];
}
