/**
 * Who made a request, in words.
 *
 * @param visitor as the request log has it: `link:for the review`, `basic:ann`, `password`, `knock`
 */
import { t } from '../../i18n/translate.ts';
export function visitorWords(visitor: string): string {
  const [way = '', ...rest] = visitor.split(':');
  const name = rest.join(':');
  switch (way) {
    case 'link':
      return name === '' ? t('visitor.withLink') : t('visitor.withTheLink', { name });
    case 'basic':
      return t('visitor.as', { name });
    case 'password':
      return t('visitor.withPassword');
    case 'knock':
      return t('visitor.admitted');
    default:
      return t('visitor.asVisitor', { visitor });
  }
}
