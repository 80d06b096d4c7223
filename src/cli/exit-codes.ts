/** What the client's commands end with. `run` ends with the work's own where it has one. */
export const EXIT_CODES = {
  OK: { status: 0, meaning: 'It is done.' },
  FAILED: { status: 1, meaning: 'It could not be done; what is said on standard error tells why.' },
  USAGE: { status: 2, meaning: 'The command, an option, a profile or the input is wrong.' },
  NOT_FOUND: { status: 3, meaning: 'There is no such thing, or it is not yours.' },
  DENIED: { status: 4, meaning: 'No token, one that is not in force, or one that may not do this.' },
  CONFLICT: { status: 5, meaning: 'The state of what it is about does not allow it, or something stands in the way.' },
  UNREACHABLE: { status: 69, meaning: 'No server answered.' },
  NO_STATUS: {
    status: 125,
    meaning: '`run`: the work ended without an exit status: cancelled, lost, or never started.',
  },
  INTERRUPTED: {
    status: 130,
    meaning: 'Ended by Ctrl-C. What runs on a server goes on unless something else was asked for.',
  },
} as const satisfies Record<string, { status: number; meaning: string }>

export type ExitCode = keyof typeof EXIT_CODES

export function exitStatus(name: ExitCode): number {
  return EXIT_CODES[name].status
}
