/** Of requests that people write, or bring from elsewhere. */
export const REQUEST_SAYINGS = {
  'edit.method': 'The method takes 1 to {max} letters, digits and hyphens, such as POST.',
  'edit.connect': 'The method takes any but CONNECT, which is for proxies.',
  'edit.longPath': 'The path takes {max} characters with its query; this one has {length}.',
  'edit.pathLines': 'The path takes no line break.',
  'edit.path':
    'The path begins with / and takes visible ASCII other than #; write anything else as %, such as %20 for a space.',
  'edit.manyHeaders': 'A request takes {max} headers; this one has {count}.',
  'edit.largeHeaders': 'The headers take {max} KiB together; these have {size} KiB.',
  'edit.ownHeader': 'The header {name} is written by culvert, from the rest of the request.',
  'edit.headerName': 'The name of a header takes letters, digits and hyphens, without spaces; not "{name}".',
  'edit.valueLines': 'The value of {name} takes no line break.',
  'edit.valueControls': 'The value of {name} takes no control characters.',
  'edit.largeBody': 'The body takes {max} KiB; this one has {size} KiB.',
  'edit.noSecretInPath': 'The path says {mark}, and request {id} has no secret there: write it.',
  'edit.noSecretInHeader': 'The value of {name} says {mark}, and request {id} has no secret there: write it.',
  'import.severalCommands': 'There is more than one command; one is taken at a time.',
  'import.openQuote': 'A quote ({quote}) is not closed.',
  'import.largeCharacter': '{escape} takes a character up to 10ffff.',
  'import.shellVariable':
    'An unquoted {character} stands for a variable or a command in a shell. Nothing is run here: write what it stands for, or quote it.',
  'import.shellCommand':
    'An unquoted {character} stands for a command in a shell. Nothing is run here: write what it stands for, or quote it.',
  'import.shellOther':
    'An unquoted {character} stands for something else to do in a shell. Nothing is run here: write what it stands for, or quote it.',
  'import.windowsCommand': 'This is for cmd of Windows: copy it as cURL (bash).',
  'import.notCurl': 'A command that is imported begins with curl.',
  'import.optionFile': '{option} {value} names a file, and no files are read.',
  'import.noAddress': 'The command has no address.',
  'import.severalAddresses': 'The command has several addresses; one request is taken at a time.',
  'import.dataFile': 'The data {value} is in a file, and no files are read: put what is in it in its place.',
  'import.option': '{option} of curl is not taken here.',
  'import.optionForm': '{option} of curl is not taken here: give the body with --data-raw.',
  'import.optionReads': '{option} of curl is not taken here: no files are read.',
  'import.optionNext': '{option} of curl is not taken here: one request is taken at a time.',
  'import.noValue': '{option} of curl has no value.',
  'import.tooMany':
    'There are more than {max} requests, which are taken at a time: export fewer where the HAR was made.',
  'import.leftOut': 'Request {number} is left out: {why}',
  'import.notJson': 'This is not JSON, so it is no HAR.',
  'import.harMissing': 'This is no HAR: {field} is missing.',
  'import.harType': 'This is no HAR: {field} is not of the type {type}.',
} as const;
