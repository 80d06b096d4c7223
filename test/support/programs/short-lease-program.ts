import type { Lease } from '../../../src/domain/agent/lease.ts'
import { serve } from '../../../src/program/serve.ts'

/** `short-lease-program.ts <lease as JSON>`: `reprise serve`, which bears silence less long. */
process.exitCode = await serve(process.env, { lease: JSON.parse(process.argv[2]!) as Lease })
