import { useState } from 'react'
import { useQuery } from 'urql'
import { download } from '../../api/login.ts'
import { usePolled } from '../../api/poll.ts'
import { toast } from '../../app/toasts.tsx'
import { bytes, counted } from '../../words/numbers.ts'
import type { Moments } from '../../words/time.ts'
import { UiOutputsDocument, type UiOutputsQuery } from './chain.generated.ts'

type Outputs = NonNullable<NonNullable<UiOutputsQuery['session']>['outputs']>

const STATES: Readonly<Record<Outputs['state'], string>> = {
  WAITING: 'They are collected when the attempt has ended.',
  COLLECTING: 'The agent is sending them.',
  COMPLETE: 'All files have arrived, each verified.',
  PARTIAL: 'Some files could not be taken.',
  LOST: 'They are lost with their agent, unless it returns.',
  NONE: 'There are no files.',
  EXPIRED: 'The files have been removed because of their age.',
}

const STAYS = 'They stay where their program left them; the servers have only this list.'

const EVERY_MS = 3_000

/** The files that an attempt left. */
export function OutputsTab({ sessionId, moments }: { sessionId: string; moments: Moments }) {
  const [pages, setPages] = useState<readonly (string | null)[]>([null])
  const { data, error } = usePolled(UiOutputsDocument, { sessionId, after: null }, EVERY_MS)
  const outputs = data?.session?.outputs
  if (error)
    return (
      <p className="chain-empty" role="alert">
        {error.message}
      </p>
    )
  if (data === undefined) return <div className="skeleton skeleton-rows" aria-busy="true" />
  const place = outputs?.place ?? null
  if (!outputs) return <p className="chain-empty">It asked for no outputs, and its program wrote none.</p>
  return (
    <>
      <div className="log-tools">
        <span>
          {place === null || outputs.state !== 'COMPLETE' ? STATES[outputs.state] : STAYS}
          {outputs.fileCount > 0 && ` ${counted(outputs.fileCount, 'file')}, ${bytes(outputs.bytes)}.`}
          {outputs.expiresAt !== null && ` Kept until ${moments.absolute(Date.parse(outputs.expiresAt))}.`}
        </span>
        {outputs.fileCount > 0 && place === null && (
          <button type="button" className="tool" onClick={() => void save(`/v2/sessions/${sessionId}/outputs.tar`)}>
            Download all as .tar
          </button>
        )}
      </div>
      {place !== null && (
        <p className="chain-empty">
          On {place.node}: <span className="mono">{place.directory}</span>
        </p>
      )}
      {outputs.reasons.map((reason) => (
        <p key={reason} className="chain-empty">
          {reason}
        </p>
      ))}
      {outputs.fileCount > 0 && (
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls it
        <div className="record-scroll" role="region" aria-label="Outputs" tabIndex={0}>
          <table className="record-table">
            <thead>
              <tr>
                <th scope="col">path</th>
                <th scope="col" className="number-cell">
                  size
                </th>
                <th scope="col">written</th>
                <th scope="col">SHA-256</th>
              </tr>
            </thead>
            <tbody>
              {pages.map((after, index) => (
                <Files
                  key={after ?? ''}
                  sessionId={sessionId}
                  after={after}
                  moments={moments}
                  place={place}
                  onMore={index === pages.length - 1 ? (next) => setPages((before) => [...before, next]) : undefined}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

interface FilesProps {
  sessionId: string
  after: string | null
  moments: Moments
  place: Outputs['place']
  onMore: ((after: string) => void) | undefined
}

/** The rows of one page. */
function Files({ sessionId, after, moments, place, onMore }: FilesProps) {
  const [{ data }] = useQuery({ query: UiOutputsDocument, variables: { sessionId, after } })
  const files = data?.session?.outputs?.files
  const next = files?.pageInfo.hasNextPage === true ? files.pageInfo.endCursor : null
  return (
    <>
      {files?.edges.map(({ node: file }) => (
        <tr key={file.path}>
          <td className="mono">
            {place === null ? (
              <button type="button" className="tool" onClick={() => void save(pathOf(sessionId, file.path))}>
                {file.path}
              </button>
            ) : (
              file.path
            )}
            {file.linkTarget !== null && ` → ${file.linkTarget}`}
            {file.executable && ' (program)'}
          </td>
          <td className="number-cell">{bytes(file.bytes)}</td>
          <td className="nowrap">{file.modifiedAt === null ? '–' : moments.absolute(Date.parse(file.modifiedAt))}</td>
          <td className="mono" title={file.sha256}>
            {file.sha256.slice(0, 12)}
          </td>
        </tr>
      ))}
      {next !== null && onMore !== undefined && (
        <tr>
          <td colSpan={4}>
            <button type="button" className="tool" onClick={() => onMore(next)}>
              Show more
            </button>
          </td>
        </tr>
      )}
    </>
  )
}

function pathOf(sessionId: string, path: string): string {
  return `/v2/sessions/${sessionId}/outputs/files/${path.split('/').map(encodeURIComponent).join('/')}`
}

async function save(path: string): Promise<void> {
  await download(path).catch((error: unknown) => {
    toast('refused', `Download: ${(error as Error).message}`)
  })
}
