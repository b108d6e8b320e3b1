/** What is said about sets of requests. */
export const SETS = {
  'problem.setNoName': 'Give the set a name.',
  'problem.setLongName': 'The name of a set has at most {max} characters.',
  'problem.setNameTaken': 'There is a set named {name} already: choose that one, or another name.',
  'problem.setsMany': 'There are {max} sets, which is as many as are kept: remove one first.',
  'problem.setFull':
    'The set {name} has {max} requests, which is as many as one takes: keep this one in another set.',
  'problem.setsLarge':
    'All sets together take at most {max} MiB: remove requests first. Nothing has changed.',
  'problem.setsNotWritten': 'The sets cannot be written: {why}. Nothing has changed.',
  'problem.setsUnreadable':
    'Your sets of requests could not be read, so there are none now. The old file is kept at {path}.',
  'problem.setGone': 'This set is no longer there.',
  'problem.keptGone': 'This request is no longer in the set.',
  'problem.keptCut': 'Request {id} cannot be kept: its body was larger than the {max} KiB that are recorded.',
  'problem.keptOpen': 'Request {id} cannot be kept before it has come whole.',
  'problem.keptUpgrade': 'Request {id} opened a WebSocket, which cannot be sent again.',
  'undo.setRemoved': 'The set {name} is removed.',
  'undo.keptRemoved': '{method} {target} is removed from {name}.',
} as const;
