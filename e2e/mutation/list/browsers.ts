import { type Mutation, unit } from '../mutation.ts';

/** What people are told before they see a tunnel, and what browsers would carry from one to another. */
export const BROWSERS: readonly Mutation[] = [
  {
    part: 'edge',
    notice: 'whoever has gone on to one tunnel is told nothing about all others',
    file: 'server/edge/own/notice.ts',
    find: '`notice ${form} ${tunnel.id} ${expires}`',
    replace: '`notice ${form} ${expires}`',
    tests: unit('Notice leads on to the address without a trace, with a cookie for this tunnel only'),
  },
  {
    part: 'edge',
    notice: 'a link in a mail leads past the page that warns of what it leads to',
    file: 'server/edge/own/notice.ts',
    find: "const isTold = isKnown || fieldValue(head.fields, 'sec-fetch-site') === 'same-origin';",
    replace: 'const isTold = true;',
    tests: unit('Notice is shown again to who follows a link that only looks like its own'),
  },
  {
    part: 'edge',
    notice: 'whoever was told once is never told again',
    file: 'server/edge/own/notice.ts',
    find: 'if (Number(expires) * 1000 <= this.#options.now()) return false;',
    replace: '',
    tests: unit('Notice accepts no cookie that another key made, that was changed, or that has expired'),
  },
  {
    part: 'edge',
    notice: 'the relay sends people who go on to whatever site somebody likes',
    file: 'server/edge/own/onward.ts',
    find: 'return /^\\/[/\\\\]/.test(written) ? `/.${written}` : written;',
    replace: 'return written;',
    tests: unit('Notice leads nowhere but to its own host, and shows what was asked for as text'),
  },
  {
    part: 'edge',
    notice: 'a picture of a tunnel says for its visitors that they have read the warning',
    file: 'server/edge/heads/own-cookies.ts',
    find: 'return OWN.has(cookieName(field.value',
    replace: 'return OWN.has(cookieName(field.name',
    tests: unit(
      'Origins does not let a tunnel set the cookie by which the relay knows who has seen its notice',
    ),
  },
  {
    part: 'edge',
    notice: 'a browser sends the password of one tunnel to all below /t/',
    file: 'server/edge/heads/challenges.ts',
    find: 'if (plain === undefined || isBare) return undefined;',
    replace: 'if (plain === undefined) return undefined;',
    tests: unit(
      'challengeBelow does not ask for a password at the bare prefix, from where browsers would send it to all of /t/',
    ),
  },
  {
    part: 'edge',
    notice: 'the site of a local service reads the cookie by which the relay knows a visitor',
    file: 'server/edge/heads/request-head.ts',
    find: "if (field.is('cookie')) writeCookies(writer, field);\n    else writer.keepField(field);",
    replace: 'writer.keepField(field);',
    tests: unit(
      "tunnelRequestHead leaves out the relay's own cookies if there are any, and nothing else of their field",
    ),
  },
];
