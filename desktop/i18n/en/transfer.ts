/** Requests that are imported. */
export const TRANSFER = {
  'import.title': 'Import into {slug}',
  'import.text': 'curl command',
  'import.hint':
    'Or a HAR file, as browsers and other programs write it. Nothing is sent before you send it.',
  'import.file': 'Choose a HAR…',
  'import.import': 'Import',
  'import.done':
    '{count, plural, =0 {No request is imported.} one {# request is imported.} other {# requests are imported.}}',
  'import.moreLeftOut': '{count, plural, one {# more is left out.} other {# more are left out.}}',
  'import.redacted': 'Some have {mark} in place of secrets: write them with Edit and send.',
} as const;
