import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useQuery } from 'urql'
import { ProblemPanel, useTitle } from '../../app/page.tsx'
import { Skeleton } from '../../design/panel.tsx'
import { UiSessionPlaceDocument } from './sessions.generated.ts'
import '../../design/panel.css'

const route = getRouteApi('/frame/sessions/$sessionId')

/** The page of a session id: leads to its chain, with this attempt chosen. */
export function SessionPage() {
  const { sessionId } = route.useParams()
  const navigate = useNavigate()
  const [{ data, error }, again] = useQuery({
    query: UiSessionPlaceDocument,
    variables: { sessionId },
    requestPolicy: 'network-only',
  })
  useTitle('Session')
  const place = data?.session
  useEffect(() => {
    if (!place) return
    const { chainId, attempt } = place
    void navigate({ to: '/chains/$chainId', params: { chainId }, search: { attempt }, replace: true })
  }, [place, navigate])
  if (error) return <ProblemPanel error={error} onAgain={() => again({ requestPolicy: 'network-only' })} />
  if (data === undefined || place) return <Skeleton />
  return (
    <div className="empty">
      <h1 tabIndex={-1}>There is no such session</h1>
      <p>It does not exist, or it is in a project that you do not see.</p>
      <Link to="/sessions" className="button">
        To the sessions
      </Link>
    </div>
  )
}
