//! Dispatches a second through the client, beside a bare loop over a socket that writes the same lines and looks into each
//! reply: `pipeline [DISPATCHES [RUNS]]`, against $FLUXBUS_ADDRESS. Each run measures both, one after the other.

use fluxbus::{object, Pending, Request};
use std::collections::VecDeque;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Instant, SystemTime};

const UNANSWERED: usize = 10_000;

fn client(dispatches: usize) -> Result<(), Box<dyn Error>> {
    let bus = fluxbus::connect("")?;
    let mut window: VecDeque<Pending> = VecDeque::with_capacity(UNANSWERED);
    for _ in 0..dispatches {
        if window.len() == UNANSWERED {
            if let Some(oldest) = window.pop_front() {
                oldest.wait()?;
            }
        }
        window.push_back(bus.send(&Request::dispatch("counter/main", "increment", object! { "by": 1 }))?);
    }
    for pending in window {
        pending.wait()?;
    }
    Ok(())
}

/// The number behind a name, and what stands behind it; a reply has them in this order.
fn number<'a>(line: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let rest = line.strip_prefix(name)?;
    let end = rest.find(|each: char| !each.is_ascii_digit())?;
    Some((rest[..end].parse().ok()?, &rest[end..]))
}

fn bare(dispatches: usize) -> Result<(), Box<dyn Error>> {
    let address = std::env::var("FLUXBUS_ADDRESS")?;
    let mut output = UnixStream::connect(address.trim_start_matches("unix:"))?;
    let mut input = BufReader::with_capacity(256 << 10, output.try_clone()?);
    let mut line = String::new();
    output.write_all(b"{\"id\":0,\"op\":\"hello\",\"protocol\":1}\n")?;
    input.read_line(&mut line)?;
    let greeting: fluxbus::Value = line.parse()?;
    let epoch = greeting["epoch"].as_str().unwrap_or("").to_string();
    let prefix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos();
    let (mut sent, mut answered, mut revision) = (0, 0, greeting["revision"].as_int().unwrap_or(0) as usize);
    let mut out = Vec::new();
    while answered < dispatches {
        while sent < dispatches && sent - answered < UNANSWERED {
            sent += 1;
            writeln!(
                out,
                "{{\"id\":{},\"key\":\"{:x}-{}\",\"op\":\"dispatch\",\"store\":\"counter/main\",\"action\":\"increment\",\
                 \"payload\":{{\"by\":{}}},\"after\":{},\"epoch\":\"{}\"}}",
                sent, prefix, sent, 1, revision, epoch
            )?;
            if out.len() > 64 << 10 {
                output.write_all(&out)?;
                out.clear();
            }
        }
        output.write_all(&out)?;
        out.clear();
        for _ in 0..1_000.min(sent - answered) {
            line.clear();
            input.read_line(&mut line)?;
            let (id, rest) = number(&line, "{\"id\":").ok_or("no id")?;
            let (now, _) = number(rest, ",\"ok\":true,\"revision\":").ok_or("not committed")?;
            answered += 1;
            revision = now;
            if id != answered {
                return Err("a reply came out of turn".into());
            }
        }
    }
    Ok(())
}

/// The processor time that this process has used, in seconds.
fn processor() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) / 100.0)
}

/// Dispatches a second, by the clock and of the program's own processor time.
fn rate(work: fn(usize) -> Result<(), Box<dyn Error>>, dispatches: usize) -> Result<(f64, f64), Box<dyn Error>> {
    let (began, used) = (Instant::now(), processor()?);
    work(dispatches)?;
    Ok((dispatches as f64 / began.elapsed().as_secs_f64(), dispatches as f64 / (processor()? - used)))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|each| each.parse().ok()).collect();
    let (dispatches, runs) = (*arguments.first().unwrap_or(&200_000), *arguments.get(1).unwrap_or(&5));
    client(dispatches / 10)?;
    bare(dispatches / 10)?;
    let mut ratios = Vec::new();
    for _ in 0..runs {
        let ((through, own), (beside, other)) = (rate(client, dispatches)?, rate(bare, dispatches)?);
        println!(
            "client {:.0}/s ({:.0} of its processor time), bare loop {:.0}/s ({:.0}), ratio {:.2}",
            through,
            own,
            beside,
            other,
            through / beside
        );
        ratios.push(through / beside);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median ratio {:.2}", ratios[ratios.len() / 2]);
    Ok(())
}
