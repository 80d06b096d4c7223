/** Of Linux, from 1 on. */
const NAMES =
  'HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS'.split(
    ' ',
  )

export interface ExitSignal {
  name: string
  number: number
}

/**
 * The signal that ended a program, after the custom of shells: an exit code of 128 and the signal's number. A program
 * may also end with such a code by itself, most often to pass on that of a child. Null for any other code.
 */
export function exitSignalOf(exitCode: number | null): ExitSignal | null {
  const number = (exitCode ?? 0) - 128
  const name = NAMES[number - 1]
  return name === undefined ? null : { name: `SIG${name}`, number }
}
