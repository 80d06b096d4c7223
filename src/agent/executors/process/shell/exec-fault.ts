import { readFileSync } from 'node:fs'
import { ARGUMENT_BYTES_MAX, EXEC_BYTES_MAX, EXEC_RESERVE_BYTES } from '../../../../domain/limits.ts'
import { execBytes, fitsArgument } from '../../../../domain/session/session-spec.ts'

/** Whatever the stack, the system has room for this. */
const EXEC_BYTES_MIN = 128 * 1024

let limit: number | undefined

/**
 * Why the system would not start this; null if it will. Of what people give, too much is refused before; here the
 * variables of server, image and agent stand beside it, such as the addresses of a thousand kernels.
 */
export function execFault(argv: readonly string[], environ: ReadonlyMap<string, string>): string | null {
  const variables = Array.from(environ, ([name, value]) => `${name}=${value}`)
  const long = [...argv, ...variables].find((each) => !fitsArgument(each))
  if (long !== undefined) {
    const [name] = argv.includes(long) ? ['an argument'] : long.split('=', 1)
    return `${name} takes ${Buffer.byteLength(long)} bytes, and may take ${ARGUMENT_BYTES_MAX}`
  }
  limit ??= Math.min(EXEC_BYTES_MAX, bytesByStack()) - EXEC_RESERVE_BYTES
  const bytes = execBytes([...argv, ...variables])
  return bytes <= limit
    ? null
    : `command and environment take ${bytes} bytes, 9 for each argument and variable among them, and may take ${limit}`
}

/** A quarter of the stack that this process, and so each of its children, may have. */
function bytesByStack(): number {
  const soft = /^Max stack size\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
  return soft === undefined ? Number.POSITIVE_INFINITY : Math.max(EXEC_BYTES_MIN, Math.floor(Number(soft) / 4))
}
