/** The parameter of a signed link (docs/protocol.md section 11.2), which goes no further than the relay. */
import { LINK_PARAMETER } from '../../../shared/links.ts';

export interface Taken {
  /** without the parameter; all else byte for byte */
  readonly target: string;
  /** its value, `''` for one that is there more than once; `undefined` where it is not there */
  readonly link: string | undefined;
}

/** @param target in origin form */
export function takeLink(target: string): Taken {
  const start = target.indexOf('?');
  if (start === -1) return { target, link: undefined };
  const values: string[] = [];
  const others: string[] = [];
  for (const parameter of target.slice(start + 1).split('&')) {
    const [name = '', ...value] = parameter.split('=');
    if (name === LINK_PARAMETER) values.push(value.join('='));
    else others.push(parameter);
  }
  const [link, ...more] = values;
  if (link === undefined) return { target, link };
  const path = target.slice(0, start);
  return {
    target: others.length === 0 ? path : `${path}?${others.join('&')}`,
    link: more.length === 0 ? link : '',
  };
}
