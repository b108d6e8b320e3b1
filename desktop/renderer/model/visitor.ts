/**
 * Who made a request, in words.
 *
 * @param visitor as the request log has it: `link:for the review`, `basic:ann`, `password`, `knock`
 */
export function visitorWords(visitor: string): string {
  const [way = '', ...rest] = visitor.split(':');
  const name = rest.join(':');
  switch (way) {
    case 'link':
      return name === '' ? 'With a link.' : `With the link “${name}”.`;
    case 'basic':
      return `As ${name}.`;
    case 'password':
      return 'With the password.';
    case 'knock':
      return 'Admitted by you.';
    default:
      return `As ${visitor}.`;
  }
}
