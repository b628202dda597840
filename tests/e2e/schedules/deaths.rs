//! Times while no backend runs, and while it dies.

use super::*;

const TASKS: usize = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_the_times_that_passed_while_the_backend_was_down_one_is_made_up() {
    let world = World::new().await;
    grant(&world).await;
    let admin = world.admin();
    let call = json!({"tool": "calculate", "arguments": {"expression": "1+1"}});
    let every = json!({
        "name": "sum", "when": "every 1m", "call": call, "timezone": "UTC", "confirm": true,
    });
    let made = scheduled(admin, admin, every).await;
    world.server().stop().await;
    due(&world, &made.id, 3_600_000).await;
    world.restart_server().await;
    let one = next_call(&world, &made.id, "").await;
    assert_eq!(one.data()["result"], "2");
    let task = tasks(admin).await.remove(0);
    assert!(task.next_at > now_ms() - 60_000, "the next time is to come: {task:?}");
    let ran = about_tasks(&world).await;
    assert_eq!(ran.len(), 1, "sixty times passed, and one call was made: {ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_a_task_waits_for_a_device_that_comes_back_later_than_the_backend() {
    let world = World::new().await;
    grant(&world).await;
    let kiosk = world.device("kiosk").start().await;
    let admin = world.admin();
    let arguments = json!({"path": "0.txt", "content": "x\n", "append": true});
    let call = json!({"tool": "write_file", "device": "kiosk", "arguments": arguments});
    let made = scheduled(admin, admin, hourly("log", &call)).await;
    world.server().stop().await;
    kiosk.agent().stop().await;
    due(&world, &made.id, 60_000).await;
    world.restart_server().await;
    let waiting = eventually("the call waits", async || {
        let call = tasks(admin).await.pop()?.last_call_id;
        let call = admin.recorded(&call).await.ok()?;
        (call.state == CallState::Queued).then_some(call)
    })
    .await;
    kiosk.run().await;
    let ended = admin.ended(&waiting.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Succeeded, None), "{ended:?}");
    assert_eq!(lines(&kiosk, 0), 1);
}

/// The calls that each file's task has written, by the lines of the file.
fn lines(kiosk: &orion_tests::Device, number: usize) -> usize {
    let file = kiosk.files().join(format!("{number}.txt"));
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_backend_dies_while_times_come_and_each_makes_its_call_once() {
    let world = World::configured("[calls]\nin_flight_per_device = 100\n").await;
    grant(&world).await;
    let kiosk = world.device("kiosk").start().await;
    let admin = world.admin();
    let mut made = Vec::new();
    for number in 0..TASKS {
        let arguments = json!({"path": format!("{number}.txt"), "content": "x\n", "append": true});
        let call = json!({"tool": "write_file", "device": "kiosk", "arguments": arguments});
        made.push(scheduled(admin, admin, hourly(&format!("log {number}"), &call)).await.id);
    }
    for round in 1..=3 {
        for task in &made {
            due(&world, task, 0).await;
        }
        eventually("some calls are made", async || {
            (0..TASKS).any(|number| lines(&kiosk, number) == round).then_some(())
        })
        .await;
        world.server().kill9().await;
        world.restart_server().await;
        eventually("every task has made its call", async || {
            let all = tasks(admin).await;
            let calls = all.iter().map(|task| task.last_call_id.clone());
            for call in calls {
                let call = admin.recorded(&call).await.ok()?;
                (call.state.is_closed() && call.state != CallState::Unknown).then_some(())?;
            }
            all.iter().all(|task| task.next_at > now_ms()).then_some(())
        })
        .await;
        for (number, task) in made.iter().enumerate() {
            let task = tasks(admin).await.into_iter().find(|it| it.schedule_id == *task).unwrap();
            let call = admin.recorded(&task.last_call_id).await.unwrap();
            let is_done = call.state == CallState::Succeeded;
            // A call that was not sent when the backend died says so, and did nothing.
            assert!(lines(&kiosk, number) <= round, "{number} ran twice: {call:?}");
            if !is_done {
                std::fs::write(kiosk.files().join(format!("{number}.txt")), "x\n".repeat(round))
                    .unwrap();
            } else {
                assert_eq!(lines(&kiosk, number), round, "{number}: {call:?}");
            }
        }
    }
    let ran = about_tasks(&world).await;
    let ran: Vec<_> = ran.iter().filter(|(kind, _)| kind == "schedule.ran").collect();
    assert_eq!(ran.len(), 3 * TASKS, "each time was claimed once");
}
