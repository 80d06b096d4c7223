import { z } from 'zod'
import type { OutputsAnswer, OutputsReport } from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import {
  OUTPUT_DIRECTORY_LENGTH_MAX,
  OUTPUT_FILES_MAX,
  OUTPUT_PAGE_FILES_MAX,
  OUTPUT_REASONS_MAX,
} from '../../domain/limits.ts'
import { isTerminal } from '../../domain/session/lifecycle.ts'
import {
  areSettled,
  FILE_MODE,
  LINK_MODE,
  manifestId,
  type OutputFile,
  outputPathFault,
  PROGRAM_MODE,
  staysInside,
} from '../../domain/session/outputs.ts'
import { isStorableText, toStorableText } from '../../domain/storable-text.ts'
import {
  beginOutputs,
  type CollectedKernel,
  lockOutputs,
  readCollectedKernel,
  readMissingOutputs,
  type SettledOutputs,
  settleOutputs,
  storeOutputFiles,
} from '../../store/sql/agent/receive-outputs.sql.ts'
import { readOutputFiles } from '../../store/sql/session/read-outputs.sql.ts'
import { readOutputBytesLeft } from '../../store/sql/quota.sql.ts'
import { useBlobs } from '../../store/sql/blob.sql.ts'
import type { Queryable } from '../../store/database.ts'
import { inputError, parseInput } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'

/** Limits of the servers' configuration. */
export interface OutputLimits {
  /** Bytes of one attempt's outputs. */
  bytesMax: number
  /** Days for which outputs are kept if the session names none; null for as long as their chain. */
  keepDays: number | null
}

export interface OutputsContext extends Pick<ServiceContext, 'db' | 'wake'> {
  outputs: OutputLimits
}

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hexadecimal')
const file = z
  .object({
    path: z.string(),
    bytes: z.int().min(0),
    mode: z.union([z.literal(FILE_MODE), z.literal(PROGRAM_MODE), z.literal(LINK_MODE)]),
    sha256,
    target: z.string().max(4_096).nullable(),
    modifiedAt: z.iso
      .datetime()
      .refine((at) => at >= '0001', 'must not lie before the year 1')
      .nullable(),
  })
  .superRefine(({ path, mode, target }, context) => {
    const fault = outputPathFault(path)
    if (fault !== null) context.addIssue({ code: 'custom', path: ['path'], message: fault })
    if ((mode === LINK_MODE) !== (target !== null)) context.addIssue('only a link has a target, and each has one')
    if (target !== null && !staysInside(path, target))
      context.addIssue('the target of a link must not leave the outputs')
  }) satisfies z.ZodType<OutputFile>

const kernel = { agentId: z.uuid(), kernelId: z.uuid(), assignment: z.int().min(0).max(2_147_483_647) }
const schema: z.ZodType<OutputsReport> = z.discriminatedUnion('step', [
  z.object({ ...kernel, step: z.literal('BEGIN') }),
  z.object({
    ...kernel,
    step: z.literal('FILES'),
    first: z.boolean(),
    files: z.array(file).max(OUTPUT_PAGE_FILES_MAX),
  }),
  z.object({
    ...kernel,
    step: z.literal('END'),
    state: z.enum(['COMPLETE', 'PARTIAL', 'NONE']),
    manifest: sha256.nullable(),
    reasons: z.array(z.string().max(4_096).transform(toStorableText)).max(OUTPUT_REASONS_MAX),
    directory: z
      .string()
      .max(OUTPUT_DIRECTORY_LENGTH_MAX)
      .refine((path) => path.startsWith('/') && isStorableText(path), 'must be an absolute path')
      .optional(),
  }),
])

/**
 * Receives a report about the outputs of a kernel. Outputs wait for nothing else, and nothing waits for them.
 *
 * @throws RepriseError KERNEL_NOT_FOUND, VALIDATION_FAILED
 */
export async function receiveOutputs(context: OutputsContext, request: OutputsReport): Promise<OutputsAnswer> {
  const report = parseInput(schema, request)
  const found = await readCollectedKernel(context.db, report)
  if (found === undefined)
    throw new RepriseError('KERNEL_NOT_FOUND', `kernel ${report.kernelId} is not assigned to this agent`)
  const bytesMax = await bytesMaxOf(context, found)
  const unwanted = { wanted: false, bytesMax, ...(found.isKept ? { kept: true } : {}) }
  if (!found.isFirst || isSettled(found)) return unwanted
  if (report.step === 'BEGIN') {
    if (!isTerminal(found.status)) return { wanted: false, later: true, bytesMax }
    const reason = refusalOf(found)
    if (reason !== null) {
      await settle(context, found, { ...NO_FILES, reasons: [reason] })
      return unwanted
    }
    return { wanted: await beginOutputs(context.db, found, report.assignment), bytesMax }
  }
  if (report.step === 'FILES') {
    const { files, first } = report
    const wanted = await context.db.transaction(async (tx) => {
      if (!(await lockOutputs(tx, found.sessionId, report.assignment))) return false
      await storeOutputFiles(tx, found, { files, first })
      await useBlobs(tx, found.projectId, [...new Set(files.map((each) => each.sha256))])
      return true
    })
    return { wanted, bytesMax }
  }
  return { ...unwanted, ...(await end(context, found, report)) }
}

const NO_FILES = { state: 'NONE', manifest: null, bytes: 0, files: 0, directory: null } as const

/** What the servers have settled by themselves, an agent that returns may still send. */
function isSettled({ state, isBegun }: CollectedKernel): boolean {
  return state !== null && state !== 'LOST' && (state !== 'NONE' || isBegun) && areSettled(state)
}

/** Explains why the session does not want the outputs of this attempt; null if it does. */
function refusalOf({ request, result }: CollectedKernel): string | null {
  if (request?.when === 'SUCCESS' && result !== 'SUCCESS')
    return 'it asked for outputs of attempts that succeed, and this one did not'
  if (request?.when === 'FAILURE' && result === 'SUCCESS')
    return 'it asked for outputs of attempts that fail, and this one succeeded'
  return null
}

async function bytesMaxOf({ db, outputs }: OutputsContext, { sessionId }: CollectedKernel): Promise<number> {
  const left = await readOutputBytesLeft(db, sessionId)
  return Math.max(0, Math.min(outputs.bytesMax, left ?? outputs.bytesMax))
}

/** Settles the outputs if the whole list, and everything in it that does not stay in place, has arrived. */
async function end(
  context: OutputsContext,
  found: CollectedKernel,
  { state, manifest, reasons, assignment, directory }: Extract<OutputsReport, { step: 'END' }>,
): Promise<Pick<OutputsAnswer, 'missing' | 'wanted'>> {
  const missing = await context.db.transaction(async (tx) => {
    if (!(await lockOutputs(tx, found.sessionId, assignment))) return []
    const place = found.request?.inPlace === true ? (directory ?? null) : null
    const absent = place === null ? await readMissingOutputs(tx, found.sessionId) : []
    if (absent.length > 0) return absent
    const list = await measure(tx, found.sessionId)
    if (manifest !== null && list.manifest !== manifest)
      throw inputError([{ path: 'manifest', message: `the list of files is not complete: it has ${list.files}` }])
    await settleWithin(tx, context, found, { state, reasons, directory: place, ...list })
    return []
  })
  if (missing.length > 0) return { wanted: true, missing }
  context.wake.wake('events')
  return { wanted: false }
}

async function measure(
  tx: Queryable,
  sessionId: string,
): Promise<Pick<SettledOutputs, 'manifest' | 'bytes' | 'files'>> {
  const list = manifestId()
  let [bytes, files, after] = [0, 0, '']
  for (;;) {
    const rows = await readOutputFiles(tx, { sessionId, after, limit: MEASURED_AT_ONCE })
    for (const row of rows) {
      list.add(row)
      bytes += row.bytes
      files += 1
      after = row.path
    }
    if (files > OUTPUT_FILES_MAX) throw inputError([{ path: 'files', message: `at most ${OUTPUT_FILES_MAX} files` }])
    if (rows.length < MEASURED_AT_ONCE) return { manifest: files === 0 ? null : list.id(), bytes, files }
  }
}

const MEASURED_AT_ONCE = 5_000

async function settle(
  context: OutputsContext,
  found: CollectedKernel,
  outputs: Omit<SettledOutputs, 'keepDays'>,
): Promise<void> {
  await settleWithin(context.db, context, found, outputs)
  context.wake.wake('events')
}

async function settleWithin(
  tx: Queryable,
  { outputs: { keepDays } }: OutputsContext,
  found: CollectedKernel,
  outputs: Omit<SettledOutputs, 'keepDays'>,
): Promise<void> {
  await settleOutputs(tx, found, { ...outputs, keepDays })
}
